import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { basename, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { prebuiltEngine } from './prebuilt.js'

/** What the builds of the libraries beside the addon (CUDA, MPI) have in common. */

export const ROOT = fileURLToPath(new URL('..', import.meta.url))
export const NATIVE = join(ROOT, 'native')
/** The engine that was built here. */
const BUILT_HERE = join(NATIVE, 'build', 'Release')
/** The addon loads its libraries from the folder in which it is, as src/engine/addon.ts finds it. */
const BESIDE = existsSync(join(BUILT_HERE, 'arbalest.node')) ? BUILT_HERE : (prebuiltEngine()?.folder ?? BUILT_HERE)

/** Every file below a folder of native/src. */
export function sourcesIn(...path) {
  return readdirSync(join(NATIVE, 'src', ...path), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
}

/** A hash of files with their names, which does not depend on the path of the checkout. */
export function hashOf(files) {
  const hash = createHash('sha256')
  for (const file of files.toSorted((a, b) => (a < b ? -1 : 1)))
    hash
      .update(`${relative(ROOT, file)}\0`)
      .update(readFileSync(file))
      .update('\0')
  return hash.digest('hex')
}

/** What a build has left about itself; undefined if it has left nothing. */
export function readStamp(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'))
  } catch {
    return undefined
  }
}

/** Copies built files to the addon. */
export function install(files) {
  mkdirSync(BESIDE, { recursive: true })
  for (const file of files) {
    const place = installed(file)
    // Replaces the file instead of writing to it, because a process may have mapped the old one.
    rmSync(place, { force: true })
    copyFileSync(file, place)
  }
}

/** Beside an engine that is a package of its own: a link to a folder of this one, in which a library looks for others. */
export function linkFolder(folder) {
  if (BESIDE === BUILT_HERE) return
  const place = join(BESIDE, basename(folder))
  rmSync(place, { force: true })
  symlinkSync(relative(BESIDE, folder), place)
}

/** Whether a file of this name is beside the addon. */
export function isInstalled(file) {
  return existsSync(installed(file))
}

function installed(file) {
  return join(BESIDE, file.slice(file.lastIndexOf('/') + 1))
}

/** Runs a step of the build of `what`; ends the process if it fails. */
export function run(what, command, args) {
  const { status, signal, error } = spawnSync(command, args, { stdio: 'inherit' })
  if (status === 0) return
  process.stderr.write(`${what} was not built (${error?.message ?? signal ?? `${command}: status ${status}`}).\n`)
  process.exit(1)
}
