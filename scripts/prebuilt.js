import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** What is asked of the addon: whether it and the library of the CPU backend, with all that they are linked with, can be opened on this machine. */
const PROBE = `process.exit(require(process.argv[1]).describe('cpu').available ? 0 : 1)`

/** The name of the package that brings the engine of this platform already built. */
export const PREBUILT = `@arbalest/${process.platform}-${process.arch}`

/**
 * The folder of that package and its provenance, `{ version, sources, ... }`. undefined if it is not installed, is of another version of `arbalest`,
 * cannot be opened on this machine, or is not wanted: `npm install --build-from-source`.
 */
export function prebuiltEngine() {
  if (/^(true|1|arbalest)$/.test(process.env.npm_config_build_from_source ?? '')) return undefined
  const require = createRequire(import.meta.url)
  let folder
  let provenance
  try {
    folder = dirname(require.resolve(`${PREBUILT}/package.json`))
    provenance = JSON.parse(readFileSync(join(folder, 'provenance.json'), 'utf8'))
  } catch {
    return undefined
  }
  if (provenance.version !== require('../package.json').version) return undefined
  // A process of its own: a library that does not fit may end the process that opens it.
  const { status } = spawnSync(process.execPath, ['-e', PROBE, join(folder, 'arbalest.node')], { stdio: 'ignore', timeout: 60_000 })
  return status === 0 ? { folder, ...provenance } : undefined
}
