import { Command, CommanderError } from 'commander'
import { invalidOption } from '../../errors.js'
import { crossoverSettings, settingsOfJobs } from '../../options/crossover.js'
import { settingsOf } from '../../options/settings.js'
import { asTyped } from '../as-typed.js'
import type { CommonFlags } from '../command.js'
import { chosenConfig } from '../config-file.js'
import { addCrossoverFlags, asTypedToCrossover, crossoverJobs, crossoverOptionsOf } from '../crossover-flags.js'
import type { FlagValues } from '../option-flags.js'
import { refusedTraining, refusedUsage } from '../refused-usage.js'
import { addTrainFlags, flagMeantBy, flagOf, trainOptionsOf } from '../train-flags.js'

/** What a launcher has to know of the training that it starts. */
interface LaunchedTraining {
  /** For restarts. */
  readonly keepsCheckpoints: boolean
  /** Whether it sums rack by rack, by its flags or its config. */
  readonly sumsByRack: boolean
  /** Those that its flags or its config give it. */
  readonly racks?: readonly (readonly number[])[]
  /** Whether it finds out if its model can overfit a few batches, and fails without an error if not. */
  readonly overfits: boolean
}

/** Wrong flags and configs are told here, before anything is started. */
export async function trainingOf([name, ...words]: readonly string[]): Promise<LaunchedTraining> {
  if (name === 'crossover') return crossingOf(words)
  if (name !== 'train') throw invalidOption('command', name, 'use train or crossover: only trainings run on several hosts')
  const command = new Command('train').exitOverride().configureOutput({ outputError: () => {} })
  addTrainFlags(command)
  command.argument('[config]').option('--json').option('--stack')
  try {
    command.parse(words, { from: 'user' })
  } catch (error) {
    // Help that was asked for is no refusal.
    throw error instanceof CommanderError && error.exitCode !== 0 ? refusedTraining(error, command.options, flagMeantBy) : error
  }
  const {
    json: _,
    stack: __,
    save: ___,
    verbose: ____,
    config,
    ...values
  } = command.opts<CommonFlags & { config?: string | false; save?: string; verbose?: boolean }>()
  const chosen = await chosenConfig({ named: command.args[0], config })
  try {
    const { checkpoint, devices, overfit } = settingsOf(trainOptionsOf(values, chosen.options))
    const { exchange, racks } = devices
    return {
      keepsCheckpoints: checkpoint !== undefined,
      sumsByRack: exchange === 'racks',
      overfits: overfit !== undefined,
      ...(racks && { racks })
    }
  } catch (error) {
    throw asTyped(error, { nameOf: (path) => flagOf(path, chosen.file === undefined ? undefined : values), file: chosen.file })
  }
}

/** Jobs on the same devices: they are started again together. */
async function crossingOf(words: readonly string[]): Promise<LaunchedTraining> {
  const command = new Command('crossover').exitOverride().configureOutput({ outputError: () => {} })
  addCrossoverFlags(command)
  command.option('--json').option('--stack')
  try {
    command.parse(words, { from: 'user' })
  } catch (error) {
    throw error instanceof CommanderError && error.exitCode !== 0
      ? refusedUsage(error, { command: 'arbalest crossover', options: command.options })
      : error
  }
  const { json: _, stack: __, ...values } = command.opts<CommonFlags & FlagValues>()
  try {
    const jobs = settingsOfJobs(await crossoverJobs(command.args, values))
    crossoverSettings(crossoverOptionsOf(values), jobs)
    return { keepsCheckpoints: jobs.every(({ checkpoint }) => checkpoint !== undefined), sumsByRack: false, overfits: false }
  } catch (error) {
    throw asTypedToCrossover(error, command.args, values)
  }
}
