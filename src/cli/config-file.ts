import { access } from 'node:fs/promises'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { createJiti } from 'jiti'
import * as arbalest from '../index.js'
import { ArbalestError, type TrainOptions } from '../index.js'

/**
 * The TrainOptions that a TypeScript or JavaScript module exports as its default. `import ... from 'arbalest'` in it is this very
 * package, wherever the module lies. Throws INVALID_OPTION.
 */
export async function loadConfig(path: string): Promise<Partial<TrainOptions>> {
  const file = resolve(path)
  try {
    await access(file)
  } catch {
    throw refusal(path, `there is no such file; name a module that exports TrainOptions as its default`)
  }
  const jiti = createJiti(pathToFileURL(file).href, {
    virtualModules: { arbalest },
    interopDefault: false,
    fsCache: false,
    moduleCache: false
  })
  let exported: unknown
  try {
    exported = (await jiti.import<{ default?: unknown }>(file)).default
  } catch (cause) {
    if (cause instanceof ArbalestError) throw cause
    throw refusal(path, `it cannot be loaded: ${cause instanceof Error ? cause.message : String(cause)}`, cause)
  }
  if (exported === undefined) throw refusal(path, 'it has no default export; export a TrainOptions object as the default')
  if (typeof exported !== 'object' || exported === null || Array.isArray(exported)) {
    throw refusal(path, `its default export is ${exported === null ? 'null' : typeof exported}; export a TrainOptions object`)
  }
  return exported
}

function refusal(path: string, what: string, cause?: unknown): ArbalestError {
  return new ArbalestError('INVALID_OPTION', `config: received ${JSON.stringify(path)}; ${what}`, {
    cause,
    data: { parameter: 'config', received: path }
  })
}
