import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf, printable } from '../errors.js'
import { didYouMeanFile } from '../similar-files.js'
import * as arbalest from '../index.js'
import { ArbalestError, type Config } from '../index.js'

/** The configs that are looked for in the working folder, in this order. */
export const CONFIG_NAMES = ['ts', 'mts', 'js', 'mjs'].map((ending) => `arbalest.config.${ending}`)

export interface LoadedConfig {
  /** The path as it was given; absent if there is no config. */
  readonly file?: string
  readonly options: Config
}

/** The arguments that select a config. */
export interface ConfigChoice {
  /** The positional argument. */
  readonly named?: string | undefined
  /** `--config FILE`; false for `--no-config`. */
  readonly config?: string | false | undefined
}

/** Loads the config that the arguments name, otherwise the one of the working folder, if any. Throws INVALID_OPTION. */
export async function chosenConfig({ named, config }: ConfigChoice): Promise<LoadedConfig> {
  if (named !== undefined && config !== undefined) {
    const flag = config === false ? '--no-config' : `--config ${config}`
    throw new ArbalestError('INVALID_OPTION', `config: received ${JSON.stringify(named)} and ${flag}; name one config`)
  }
  if ((named === 'true' || named === 'false') && !existsSync(named))
    throw refusal('config', named, 'there is no such file; a flag that is true or false takes no value: use --NAME or --no-NAME')
  if (named !== undefined && Object.hasOwn(arbalest.zoo, named) && !existsSync(named))
    throw refusal('config', named, `there is no such file; for the model of this name: --model ${named}`)
  if (named !== undefined && isData(named))
    throw refusal('config', named, `it is data, and no module with options; to train on it: arbalest train --data ${named}`)
  const given = named ?? (config === false ? undefined : config)
  const file = given ?? (config === undefined ? CONFIG_NAMES.find((name) => existsSync(name)) : undefined)
  return file === undefined ? { options: {} } : { file, options: await loadConfig(file) }
}

/** Whether an argument is what --data takes: the name of a data set, a table, a text or a folder. */
function isData(named: string): boolean {
  return (
    isFolder(named) ||
    arbalest.isTablePath(named) ||
    arbalest.readsText(named) ||
    (arbalest.datasetNames.includes(named) && !existsSync(named))
  )
}

function isFolder(path: string): boolean {
  return path !== '' && existsSync(`${path}/`)
}

/** Loads the default export of a module, or the result of the function that it exports, as options. Throws INVALID_OPTION. */
export async function loadConfig(path: string): Promise<Config> {
  const given = await defaultExport(path, { parameter: 'config', wanted: 'export default defineConfig({ ... })' })
  if (typeof given === 'object' && given !== null && !Array.isArray(given)) return given
  const what = given === null ? 'null' : Array.isArray(given) ? 'an array' : typeof given
  throw refusal('config', path, `its default export is ${what}; export default defineConfig({ ... })`)
}

/**
 * The default export of a TypeScript or JavaScript module, or the result of the function that it exports. In the module, `import ... from
 * 'arbalest'` is this package, wherever the module is. Throws INVALID_OPTION.
 */
export async function defaultExport(path: string, { parameter, wanted }: { parameter: string; wanted: string }): Promise<unknown> {
  const file = resolve(path)
  if (path === '' || !existsSync(file))
    throw refusal(parameter, path, `there is no such file; name a module with: ${wanted}${didYouMeanFile(path, printable)}`)
  if (isFolder(file)) throw refusal(parameter, path, `it is a folder; name a module in it with: ${wanted}`)
  const { createJiti } = await import('jiti')
  const jiti = createJiti(pathToFileURL(file).href, {
    virtualModules: { arbalest },
    interopDefault: false,
    fsCache: false,
    moduleCache: false
  })
  let exported: unknown
  let given: unknown
  try {
    exported = esModuleDefault((await jiti.import<{ default?: unknown }>(file)).default)
    given = typeof exported === 'function' ? await (exported as () => unknown)() : exported
  } catch (cause) {
    if (cause instanceof ArbalestError) throw cause
    throw refusal(parameter, path, `it cannot be loaded: ${messageOf(cause)}`, cause)
  }
  if (exported === undefined) throw refusal(parameter, path, `it has no default export; ${wanted}`)
  if (given === undefined)
    throw refusal(
      parameter,
      path,
      'the function that it exports returns nothing; return an object: () => ({ ... }), or () => { return { ... } }'
    )
  return given
}

/** What a CommonJS module exports is the default of its import; one that was compiled from an ES module has its own default in that. */
function esModuleDefault(exported: unknown): unknown {
  const { __esModule: isCompiled, default: own } = Object(exported) as { readonly __esModule?: unknown; readonly default?: unknown }
  return isCompiled === true ? own : exported
}

function refusal(parameter: string, path: string, what: string, cause?: unknown): ArbalestError {
  return new ArbalestError('INVALID_OPTION', `${parameter}: received ${JSON.stringify(path)}; ${what}`, {
    cause,
    data: { parameter, received: path }
  })
}
