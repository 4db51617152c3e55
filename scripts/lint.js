// node scripts/lint.js           checks format and rules: prettier, oxlint with types, clang-format
// node scripts/lint.js --write   formats in place instead
// The checks run at the same time. Prettier skips files that have not changed since it found them well formatted.
import { spawn, spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const CLANG_FORMAT_MAJOR = '14'
const PRETTIER = ['prettier/bin/prettier.cjs', '--log-level', 'warn', '--cache', '--cache-strategy', 'content']
const PRETTIER_CACHE = join('.setup', 'prettier-cache')
const root = fileURLToPath(new URL('..', import.meta.url))
const { write } = parseArgs({ options: { write: { type: 'boolean', default: false } } }).values

const checks = [
  node(...PRETTIER, '--cache-location', PRETTIER_CACHE, write ? '--write' : '--check', '.'),
  clangFormat(write ? ['-i'] : ['--dry-run', '--Werror'])
]
if (!write) checks.push(node('oxlint/bin/oxlint', '--type-aware', '--deny-warnings', '--format', 'unix', '.'))
process.exitCode = (await Promise.all(checks)).every(Boolean) ? 0 : 1

function node(script, ...args) {
  return run(process.execPath, [join(root, 'node_modules', script), ...args])
}

/** Uses one version of clang-format, because versions differ in details. If it is not installed, prints a line. */
async function clangFormat(how) {
  const command = [`clang-format-${CLANG_FORMAT_MAJOR}`, 'clang-format'].find((name) =>
    spawnSync(name, ['--version'], { encoding: 'utf8' }).stdout?.includes(`version ${CLANG_FORMAT_MAJOR}.`)
  )
  if (command !== undefined) return run(command, [...how, '--style=file', ...nativeSources()])
  console.log(`The format of native/ was not checked: clang-format ${CLANG_FORMAT_MAJOR} is not installed.`)
  return true
}

/** Resolves with true if the command succeeds. Its output is printed when it ends, so that the outputs of two commands do not mix. */
function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
    child.on('error', (error) => (output += `${command}: ${error.message}\n`))
    child.on('close', (status) => {
      process.stdout.write(output)
      resolve(status === 0)
    })
  })
}

function nativeSources() {
  return readdirSync(join(root, 'native', 'src'), { recursive: true })
    .filter((name) => /\.(h|cpp|cu|cuh|inc)$/.test(name))
    .map((name) => join('native', 'src', name))
}
