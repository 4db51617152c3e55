// node scripts/lint.js           checks format and rules: prettier, oxlint with types, clang-format
// node scripts/lint.js --write   formats in place instead
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'

const CLANG_FORMAT_MAJOR = '14'
const root = fileURLToPath(new URL('..', import.meta.url))
const write = process.argv.includes('--write')

const ok = write
  ? [node('prettier/bin/prettier.cjs', '--write', '--log-level', 'warn', '.'), clangFormat()]
  : [
      node('prettier/bin/prettier.cjs', '--check', '--log-level', 'warn', '.'),
      node('oxlint/bin/oxlint', '--type-aware', '--deny-warnings', '--format', 'unix', '.'),
      clangFormat()
    ]
process.exitCode = ok.every(Boolean) ? 0 : 1

function node(script, ...args) {
  return spawnSync(process.execPath, [join(root, 'node_modules', script), ...args], { cwd: root, stdio: 'inherit' }).status === 0
}

/** Versions of clang-format disagree about details, so that only one is asked; where it is not installed a line says so. */
function clangFormat() {
  const command = [`clang-format-${CLANG_FORMAT_MAJOR}`, 'clang-format'].find((name) =>
    spawnSync(name, ['--version'], { encoding: 'utf8' }).stdout?.includes(`version ${CLANG_FORMAT_MAJOR}.`)
  )
  if (command === undefined) {
    console.log(`The format of native/ was not looked at: clang-format ${CLANG_FORMAT_MAJOR} is not installed.`)
    return true
  }
  const files = nativeSources()
  if (write) return spawnSync(command, ['-i', '--style=file', ...files], { cwd: root, stdio: 'inherit' }).status === 0
  const wrong = files.filter(
    (file) => spawnSync(command, ['--style=file', file], { encoding: 'utf8' }).stdout !== readFileSync(file, 'utf8')
  )
  for (const file of wrong) console.log(`${relative(root, file)}: not as clang-format has it; run \`npm run format\``)
  return wrong.length === 0
}

function nativeSources(folder = join(root, 'native', 'src')) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? nativeSources(path) : /\.(h|cpp|cu|cuh|inc)$/.test(entry.name) ? [path] : []
  })
}
