// node scripts/install.js: npm runs it when it installs this package. It builds the native engine for the processor, and installs nothing else. It never
// fails: `arbalest/runtime` needs no engine, and the first use of the engine reports what is missing.
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const at = (path) => fileURLToPath(new URL(path, import.meta.url))

// In a checkout scripts/setup runs npm, which runs this script: scripts/setup builds the engine.
if (!existsSync(at('../tsconfig.json')) && spawnSync(process.execPath, [at('build-native.js'), '--check']).status !== 0) {
  showOnTerminal('arbalest: building the native engine for this processor; this takes a few minutes')
  const { status } = spawnSync('bash', [at('setup'), '--no-system'], { stdio: 'inherit' })
  const outcome = status === 0 ? 'the native engine is built' : 'the native engine is not built yet; run `npx arbalest setup`'
  showOnTerminal(`arbalest: ${outcome}`)
  if (status !== 0) process.stderr.write(`arbalest: ${outcome}\n`)
}

/** Writes a line to the terminal, if there is one: npm does not show the output of an installed package's scripts. */
function showOnTerminal(line) {
  if (process.stderr.isTTY) return
  try {
    writeFileSync('/dev/tty', `\r\u{1b}[2K${line}\n`)
  } catch {
    // There is no terminal.
  }
}
