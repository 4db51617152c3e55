import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Relative to dist/src/engine/. */
const PACKAGE = fileURLToPath(new URL('../../../', import.meta.url))

/**
 * Whether the engine is being built here, or its build has ended without an engine: scripts/build-native.js removes the stamp at the beginning and writes it at the end. `whole` also if it was
 * never built here.
 */
export function buildState(folder = PACKAGE): 'running' | 'broken off' | 'whole' {
  const build = join(folder, 'native/build')
  if (!existsSync(build) || existsSync(join(build, 'stamp.json'))) return 'whole'
  return isLocked(join(folder, '.setup/lock')) ? 'running' : 'broken off'
}

/** Whether a set-up holds its lock, by the program with which it takes it. The engine's own call for locks may not be there. */
function isLocked(file: string): boolean {
  return existsSync(file) && spawnSync('flock', ['--nonblock', '--shared', file, 'true'], { stdio: 'ignore' }).status === 1
}
