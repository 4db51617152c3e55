import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { PREBUILT } from './prebuilt.js'

/** What `npm run release` calls the package of this platform's engine. */
const FILE = new RegExp(`^${PREBUILT.replace('@', '').replace('/', '-')}-.+\\.tgz$`)

/**
 * Installs the prebuilt engine of these sources in a checkout, if one is at hand: a file of `npm run release` in release/, or the one that ARBALEST_PREBUILT names. Returns whether it
 * did; an engine of other sources is left alone.
 */
export function unpackPrebuilt(root, sources) {
  return packagesAtHand(root).some((file) => sourcesIn(file) === sources && unpack(file, join(root, 'node_modules', PREBUILT)))
}

function packagesAtHand(root) {
  const given = process.env.ARBALEST_PREBUILT
  if (given) return [given]
  const folder = join(root, 'release')
  try {
    return readdirSync(folder).flatMap((file) => (FILE.test(file) ? [join(folder, file)] : []))
  } catch {
    return []
  }
}

/** The hash of the sources that a package was built from; undefined if it tells of none. */
function sourcesIn(file) {
  try {
    return JSON.parse(tar(['-xzOf', file, 'package/provenance.json'])).sources
  } catch {
    return undefined
  }
}

/** Whole or not at all: an interrupted one leaves no engine. */
function unpack(file, to) {
  const beside = join(dirname(to), `.${basename(to)}-${process.pid}`)
  try {
    mkdirSync(beside, { recursive: true })
    tar(['-xzf', file, '-C', beside, '--strip-components=1'])
    rmSync(to, { recursive: true, force: true })
    renameSync(beside, to)
    return true
  } catch {
    return false
  } finally {
    rmSync(beside, { recursive: true, force: true })
  }
}

function tar(args) {
  const { status, stdout, error } = spawnSync('tar', args, { encoding: 'utf8' })
  if (status !== 0) throw error ?? new Error(`tar ended with status ${status}`)
  return stdout
}
