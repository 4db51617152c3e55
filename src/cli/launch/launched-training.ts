import { Command, CommanderError } from 'commander'
import { invalidOption } from '../../errors.js'
import { settingsOf } from '../../options/settings.js'
import { asTyped } from '../as-typed.js'
import type { CommonFlags } from '../command.js'
import { chosenConfig } from '../config-file.js'
import { refusedTraining } from '../refused-usage.js'
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

/** Wrong flags of `train` are told here, before anything is started; jobs of `crossover` have configs of their own. */
export async function trainingOf([name, ...words]: readonly string[]): Promise<LaunchedTraining> {
  if (name === 'crossover') return { keepsCheckpoints: false, sumsByRack: false, overfits: false }
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
