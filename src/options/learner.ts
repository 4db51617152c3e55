import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { messageOf } from '../errors.js'
import type { OptionChecks } from './option-checks.js'

/** The address of a learner's module that exists; undefined for the built-in one. */
export function learnerModule(checks: OptionChecks, learner: unknown): URL | undefined {
  return moduleAddress(checks, 'learner', learner, 'a learner')
}

/** The address of a module that exists and exports `what`; undefined where none is given, or none that can be. */
export function moduleAddress(checks: OptionChecks, path: string, given: unknown, what: string): URL | undefined {
  if (given === undefined) return undefined
  if (!(given instanceof URL) && (typeof given !== 'string' || given === '')) {
    checks.refuse(path, given, 'give the URL of a module, or the path of its file')
    return undefined
  }
  const received = given instanceof URL ? given.href : given
  try {
    const module = given instanceof URL ? given : /^(file|data):/.test(given) ? new URL(given) : pathToFileURL(resolve(given))
    if (module.protocol !== 'file:' || existsSync(fileURLToPath(module))) return module
    checks.refuse(path, received, `there is no such file: name a module that exports ${what}`)
  } catch (error) {
    checks.refuse(path, received, `that is no address (${messageOf(error)}): name a module that exports ${what}`)
  }
  return undefined
}

/** Whatever can cross to a learner's thread. */
export function learnerOptions(checks: OptionChecks, given: unknown): unknown {
  try {
    structuredClone(given)
  } catch (error) {
    checks.refuse('learnerOptions', given, `it cannot be posted to a thread (${messageOf(error)}); use plain data and shared memory`)
  }
  return given
}
