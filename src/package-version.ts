import { readFileSync } from 'node:fs'
import { ArbalestError } from './errors.js'

// esbuild leaves it out of a bundle in CommonJS, where the addresses of threads and of the engine would be refused as no URLs.
if ((import.meta.url as string | undefined) === undefined) throw inBundle()

/**
 * The version of this package. Throws INVALID_STATE where this module is not among the files of its package, as in a bundle that contains it: threads and the
 * native engine are loaded from other files of the package.
 */
export function packageVersion(manifest = new URL('../../package.json', import.meta.url)): string {
  const { name, version } = manifestAt(manifest)
  if (name === 'arbalest' && version !== undefined) return version
  throw inBundle()
}

/** Throws INVALID_STATE in a bundle that contains this package. Called before anything is loaded late: such a bundle may not have it. */
export function refuseBundle(): void {
  packageVersion()
}

function inBundle(): ArbalestError {
  const message =
    'arbalest: its modules are not in their package; leave it out of your bundle (esbuild: --packages=external; other bundlers: docs/bundlers.md)'
  return new ArbalestError('INVALID_STATE', message)
}

function manifestAt(manifest: URL): { readonly name?: string; readonly version?: string } {
  try {
    return Object(JSON.parse(readFileSync(manifest, 'utf8'))) as ReturnType<typeof manifestAt>
  } catch {
    return {}
  }
}
