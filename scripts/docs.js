// node scripts/docs.js           writes docs/api from the docstrings of the package's exports, and the tables of docs/configuration.md
// node scripts/docs.js --check   writes nothing: exits 0 if docs/api is current, 1 if it is not, 3 if TypeDoc cannot be installed
//
// An export without a docstring is an error. TypeDoc needs a compiler with an API, which TypeScript 7 lacks: scripts/api is a package with both.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))
const generator = join(root, 'scripts', 'api')
const pages = join(root, 'docs', 'api')
const { check } = parseArgs({ options: { check: { type: 'boolean', default: false } } }).values

if (!check) writeOptionTables()
install()
process.exitCode = (check ? isCurrent() : write(pages)) ? 0 : 1

function install() {
  if (spawnSync(process.execPath, [join(root, 'scripts', 'npm-is-current.js'), generator]).status === 0) return
  const { status, stderr } = spawnSync('npm', ['ci', '--prefix', generator, '--no-audit', '--no-fund', '--loglevel=error'], {
    encoding: 'utf8'
  })
  if (status === 0) return
  process.stderr.write(`docs: TypeDoc cannot be installed: ${stderr ?? 'npm is missing'}\n`)
  process.exit(3)
}

function writeOptionTables() {
  const { status } = spawnSync(process.execPath, [join(root, 'scripts', 'option-tables.js')], { stdio: 'inherit' })
  if (status !== 0) process.exit(1)
}

function write(folder) {
  const typedoc = join(generator, 'node_modules', 'typedoc', 'bin', 'typedoc')
  const { status, stdout, stderr } = spawnSync(process.execPath, [typedoc, '--logLevel', 'Warn', '--out', folder], {
    cwd: generator,
    encoding: 'utf8'
  })
  // Types that are inferred from the schema of the options contain each docstring twice.
  const lines = `${stdout}${stderr}`.split('\n').filter((line) => line !== '' && !line.includes('has multiple declarations with a comment'))
  if (status !== 0) process.stderr.write(`${lines.join('\n')}\n`)
  return status === 0
}

function isCurrent() {
  const folder = mkdtempSync(join(tmpdir(), 'arbalest-api-'))
  try {
    if (!write(folder)) return false
    const [wanted, found] = [contents(folder), contents(pages)]
    const names = [...new Set([...wanted.keys(), ...found.keys()])]
    const stale = names.filter((name) => wanted.get(name) !== found.get(name))
    for (const name of stale) process.stderr.write(`docs/api/${name}: not what the docstrings say; run \`npm run docs\`\n`)
    return stale.length === 0
  } finally {
    rmSync(folder, { recursive: true })
  }
}

function contents(folder) {
  const names = readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.md'))
  return new Map(names.map((name) => [name, readFileSync(join(folder, name), 'utf8')]))
}
