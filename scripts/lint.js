// node scripts/lint.js           checks format and rules: prettier, oxlint with types, clang-format
// node scripts/lint.js --write   formats in place instead
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const CLANG_FORMAT_MAJOR = '14'
const root = fileURLToPath(new URL('..', import.meta.url))
const write = process.argv.includes('--write')

const ok = write
  ? [node('prettier/bin/prettier.cjs', '--write', '--log-level', 'warn', '.'), clangFormat('-i')]
  : [
      node('prettier/bin/prettier.cjs', '--check', '--log-level', 'warn', '.'),
      node('oxlint/bin/oxlint', '--type-aware', '--deny-warnings', '--format', 'unix', '.'),
      clangFormat('--dry-run', '--Werror')
    ]
process.exitCode = ok.every(Boolean) ? 0 : 1

function node(script, ...args) {
  return spawnSync(process.execPath, [join(root, 'node_modules', script), ...args], { cwd: root, stdio: 'inherit' }).status === 0
}

/** Versions of clang-format disagree about details, so that only one is asked; where it is not installed a line says so. */
function clangFormat(...args) {
  for (const command of [`clang-format-${CLANG_FORMAT_MAJOR}`, 'clang-format']) {
    const { stdout } = spawnSync(command, ['--version'], { encoding: 'utf8' })
    if (!stdout?.includes(`version ${CLANG_FORMAT_MAJOR}.`)) continue
    return spawnSync(command, [...args, '--style=file', ...nativeSources()], { cwd: root, stdio: 'inherit' }).status === 0
  }
  console.log(`The format of native/ was not looked at: clang-format ${CLANG_FORMAT_MAJOR} is not installed.`)
  return true
}

function nativeSources(folder = join(root, 'native', 'src')) {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name)
    return entry.isDirectory() ? nativeSources(path) : /\.(h|cpp|cu|cuh|inc)$/.test(entry.name) ? [path] : []
  })
}
