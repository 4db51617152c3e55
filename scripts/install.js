// node scripts/install.js: what npm runs where this package is installed. It builds the native engine for the processor, and installs nothing else.
// It never fails an installation: `arbalest/runtime` needs no engine, and who needs one is told at its first use what is missing.
import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const at = (path) => fileURLToPath(new URL(path, import.meta.url))

// A checkout is set up by scripts/setup, which runs npm, which runs this.
if (!existsSync(at('../src')) && spawnSync(process.execPath, [at('build-native.js'), '--check']).status !== 0) {
  showOnTerminal('arbalest: building the native engine for this processor; this takes a minute or two')
  const { status } = spawnSync('bash', [at('setup'), '--no-system'], { stdio: 'inherit' })
  const outcome = status === 0 ? 'the native engine is built' : 'the native engine is not built yet; run `npx arbalest setup`'
  showOnTerminal(`arbalest: ${outcome}`)
  if (status !== 0) process.stderr.write(`arbalest: ${outcome}\n`)
}

/** npm keeps the output of an installed package's scripts to itself: a line is written to the terminal, if there is one, beside npm's own progress. */
function showOnTerminal(line) {
  if (process.stderr.isTTY) return
  try {
    writeFileSync('/dev/tty', `\r\u{1b}[2K${line}\n`)
  } catch {
    // No terminal: nobody is waiting there.
  }
}
