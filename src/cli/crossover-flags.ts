import type { Command } from 'commander'
import { crossoverOptions, type CrossoverOptions } from '../options/crossover.js'
import { devicesOptions } from '../options/devices.js'
import type { TrainOptions } from '../options/train-options.js'
import { asTyped } from './as-typed.js'
import { loadConfig } from './config-file.js'
import { OptionFlags, type FlagValues } from './option-flags.js'
import { trainOptionsOf } from './train-flags.js'

const flags = new OptionFlags(crossoverOptions.entries)
/** The options that are meant for all jobs: what they share. */
const { hosts, link } = devicesOptions
const jobFlags = new OptionFlags({ hosts, link })

export function addCrossoverFlags(command: Command): void {
  flags.addTo(command)
  command.optionsGroup('For all jobs:')
  jobFlags.addTo(command)
  command.argument('<configs...>', 'modules that export options, one for each job')
}

export function crossoverOptionsOf(values: FlagValues): CrossoverOptions {
  return flags.over({}, values)
}

/** The options of each job. Throws INVALID_OPTION. */
export async function crossoverJobs(configs: readonly string[], values: FlagValues): Promise<TrainOptions[]> {
  const jobs: TrainOptions[] = []
  for (const file of configs) jobs.push(jobFlags.over(trainOptionsOf({}, await loadConfig(file)), values))
  return jobs
}

/** The error with the names by which the user has given the options. */
export function asTypedToCrossover(error: unknown, configs: readonly string[], values: FlagValues): unknown {
  const nameOf = (path: string) => flags.nameOf(path, values) ?? jobFlags.nameOf(path.replace(/^jobs\[\d+\]\./, ''), values)
  return asTyped(error, { nameOf, file: (path) => configs[Number(/^jobs\[(\d+)\]/.exec(path)?.[1])] })
}
