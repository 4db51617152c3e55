import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheFolder } from '../../src/data/cache-folder.js'
import { seldom } from '../support/seldom.js'
import { BackgroundCommand } from './background-command.js'
import { blocksOf, type Block } from './page.js'
import { few, settings } from './settings.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))
const RUN = ['ts', 'js', 'sh']
const LANGUAGES = [...RUN, '', 'python', 'json', 'yaml']
const MARKS = [undefined, 'not-run', 'compiled', 'background']
const SECONDS = 100

/** The commands of the pages, as in a project where the package is installed, with few steps and, where they train on digits, few of those. */
const SHELL = `
set -e
few=(${few.flags.map((flag) => `'${flag}'`).join(' ')})
arbalest() {
  if [ "$1" = train ]; then
    case " $* " in *' --steps '*) ;; *) set -- "$@" --steps 4 ;; esac
    case " $* " in *' --data digits '*) ;; *' --data '*) few=() ;; esac
    set -- "$@" "\${few[@]}"
  fi
  node '${join(ROOT, 'bin/arbalest.js')}' "$@"
}
jiti() { node "\${1%.ts}.js" "\${@:2}"; }
npx() { "$@"; }
`

const pages = ['README.md', ...readdirSync(join(ROOT, 'docs'), { recursive: true }).map((name) => join('docs', String(name)))]
  .filter((name) => name.endsWith('.md') && !name.startsWith('docs/api/'))
  .sort()
  .map((page) => ({ page, blocks: blocksOf(page, readFileSync(join(ROOT, page), 'utf8')) }))

const isTested = (page: string) => seldom.tested || settings[page]?.seldom !== true

describe('The code of the pages', () => {
  // Inside the package, where its own name leads to what is built.
  let folder: string
  const folderOf = (page: string) => join(folder, page.replaceAll(/\W/g, '-'))

  before(async () => {
    mkdirSync(join(ROOT, 'dist'), { recursive: true })
    folder = mkdtempSync(join(ROOT, 'dist/pages-'))
    const sources: string[] = []
    for (const { page, blocks } of pages) {
      mkdirSync(join(folderOf(page), 'home'), { recursive: true })
      if (isTested(page)) await settings[page]?.prepare?.(folderOf(page))
      for (const block of blocks) {
        if (block.mark === 'not-run' || block.language === 'sh' || block.language === '') continue
        const file = join(folderOf(page), block.file)
        writeFileSync(file, madeSmall(block))
        if (block.language === 'ts') sources.push(file)
      }
    }
    compile(sources)
  })

  after(async () => {
    rmSync(folder, { recursive: true })
    await few[Symbol.asyncDispose]()
  })

  for (const { page, blocks } of pages) {
    const runnable = blocks.filter(({ language, mark }) => RUN.includes(language) && mark !== 'not-run' && mark !== 'compiled')
    if (runnable.length === 0 || !isTested(page)) continue

    it(`of ${page} runs`, async function () {
      this.timeout(SECONDS * 1000 * (runnable.length + 1))
      const { first, prints } = settings[page] ?? {}
      let printed = first === undefined ? '' : shell(page, first, 'before its first block')
      const background: BackgroundCommand[] = []
      try {
        for (const block of runnable) {
          const where = `${page}:${block.line}`
          if (block.mark === 'background') background.push(inBackground(block))
          else printed += shell(page, block.language === 'sh' ? madeSmall(block) : `node ${block.file.replace(/ts$/, 'js')}`, where)
        }
      } finally {
        for (const command of background) await command.stop()
      }
      if (prints) expect(printed).to.match(prints)
    })
  }

  it('is left out in few places only, which say so', () => {
    const blocks = pages.flatMap((each) => each.blocks)
    for (const { page, line, language, mark } of blocks) {
      expect(LANGUAGES, `${page}:${line}`).to.include(language)
      expect(MARKS, `${page}:${line}`).to.include(mark)
    }
    const code = blocks.filter(({ language }) => RUN.includes(language))
    expect(code.filter(({ mark }) => mark === 'not-run').length).to.be.at.most(0.2 * code.length)
  })

  function compile(files: readonly string[]): void {
    const tsconfig = {
      extends: join(ROOT, 'tsconfig.json'),
      // A block shows one thing, and is no place to ask of every element whether it is there.
      compilerOptions: { rootDir: '.', outDir: '.', moduleDetection: 'force', noUncheckedIndexedAccess: false },
      files,
      include: []
    }
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(tsconfig))
    const compiler = join(ROOT, 'node_modules/typescript/bin/tsc')
    const { status, stdout } = spawnSync(process.execPath, [compiler, '-p', folder], { cwd: ROOT, encoding: 'utf8' })
    expect(status, stdout).to.equal(0)
  }

  function shell(page: string, code: string, where: string): string {
    const { status, stdout, stderr } = spawnSync('bash', ['-c', SHELL + code], {
      cwd: folderOf(page),
      env: environment(page),
      encoding: 'utf8',
      timeout: SECONDS * 1000
    })
    expect(status, `${where}\n${code}\n${stdout}${stderr}`).to.equal(0)
    return stdout
  }

  function inBackground({ page, code, line }: Block): BackgroundCommand {
    return new BackgroundCommand(SHELL + code, { cwd: folderOf(page), env: environment(page), name: `line-${line}` })
  }

  /** `~` is the page's own. The digits that are kept are those of all. */
  function environment(page: string): NodeJS.ProcessEnv {
    return { ...process.env, ARBALEST_CACHE: cacheFolder(), HOME: join(folderOf(page), 'home') }
  }
})

function madeSmall({ page, code }: Block): string {
  const { smaller = [], allDigits = false } = settings[page] ?? {}
  const shorter = smaller.reduce((text, [from, to]) => text.replace(from, to), code)
  return allDigits ? shorter : shorter.replaceAll("data: 'digits'", `data: 'mnist', dataDir: '${few.directory}'`)
}
