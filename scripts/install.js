// node scripts/install.js: what npm runs where this package is installed. It builds the native engine for the processor, and installs nothing else.
// It never fails an installation: `arbalest/runtime` needs no engine, and who needs one is told at its first use what is missing.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const at = (path) => fileURLToPath(new URL(path, import.meta.url))

// A checkout is set up by scripts/setup, which runs npm, which runs this.
if (!existsSync(at('../src'))) {
  const { status } = spawnSync('bash', [at('setup'), '--no-system'], { stdio: 'inherit' })
  if (status !== 0) process.stderr.write('arbalest: the native engine is not built yet; run `npx arbalest setup`\n')
}
