import type { TrainOptions } from './train-options.js'

/** The options in `arbalest.config.ts`: those of `train`, all of which may be left to flags and defaults. */
export type Config = Partial<TrainOptions>

/** The same, or a function that returns it, also later: for options that depend on the environment. */
export type ConfigSource = Config | (() => Config | Promise<Config>)

/**
 * The options of a run as a module's default export, with their types checked where they are written:
 *
 * ```ts
 * import { defineConfig } from 'arbalest'
 *
 * export default defineConfig({ model: 'lenet', data: 'digits', optimiser: { learningRate: 0.02 }, until: { epochs: 4 } })
 * ```
 */
export function defineConfig(config: () => Config | Promise<Config>): () => Config | Promise<Config>
// The last one: the compiler tells of a mistake by the last overload.
export function defineConfig(config: Config): Config
export function defineConfig(config: ConfigSource): ConfigSource {
  return config
}
