import { absolutePath } from '../node.js'
import { group, option, orShort, required, type CheckedOptions, type GivenOptions, type ToldByName } from '../schema/group.js'
import { real, text, whole } from '../schema/values.js'

const dir = text('the path of a folder')

const checkpoint = group({
  /** A folder for this run alone. */
  dir: required(dir, {
    text: 'keeps checkpoints there, and continues from the newest whole one',
    flag: '--checkpoint-dir <folder>',
    also: ['checkpoint', 'checkpointDir', 'checkpoint_dir', 'checkpointFolder', 'checkpointPath', 'dirpath'],
    common: true
  }),
  /** Iterations between two checkpoints, each taken at the next round; there is also one at each measurement. */
  period: option(whole({ min: 1 }), {
    text: 'iterations between two checkpoints; there is also one at each measurement',
    flag: '--checkpoint-period <steps>',
    also: ['checkpointEvery', 'saveSteps', 'save_steps', 'saveEvery']
  }),
  /** How many of the newest are kept, in addition to the best measured one; 3 if omitted. */
  keep: option(whole({ min: 1 }), {
    text: 'how many of the newest checkpoints are kept, in addition to the best',
    flag: '--checkpoint-keep <count>',
    default: 3,
    also: ['saveTopK', 'save_top_k', 'maxToKeep', 'max_to_keep', 'save_total_limit']
  }),
  /** `auto`, the default: from the newest whole checkpoint in `dir`, if there is one. `never`, or the path of a checkpoint. */
  resume: option<'auto' | 'never' | (string & {}), string, 'auto'>(text("'auto', 'never' or the path of a checkpoint"), {
    text: 'auto, never, or the path of a checkpoint',
    flag: '--resume <which>',
    default: 'auto'
  })
})

/** Where a run is kept, so that the same command or program continues it after any stop. */
export interface CheckpointOptions extends GivenOptions<typeof checkpoint>, ToldByName {}

const onNaN = group({
  /** The factor of all learning rates, each time; 0.5 if omitted. */
  learningRateFactor: option(real({ above: 0, below: 1 }), {
    text: 'if the loss is not finite any more: continue from the newest checkpoint with learning rates times this',
    flag: '--nan-lr-factor <number>',
    default: 0.5
  }),
  /** How many times; 3 if omitted. */
  retries: option(whole({ min: 1, max: 100 }), {
    text: 'how many times to go back to a checkpoint',
    flag: '--nan-retries <count>',
    default: 3
  })
})

/** Back to the newest checkpoint, or to the start if there is none, with a lower learning rate from there on. */
export interface NotFiniteOptions extends GivenOptions<typeof onNaN>, ToldByName {}

export const checkpointOptions = {
  /** Where checkpoints are kept, so that the same call continues a run that has stopped for any reason. */
  checkpoint: option<string | CheckpointOptions, CheckedOptions<typeof checkpoint>>(orShort(dir, checkpoint, 'dir')),
  /** What to do if the loss is not a finite number any more; if omitted, the run ends with LOSS_NOT_FINITE. */
  onNaN: option<NotFiniteOptions, CheckedOptions<typeof onNaN>>(onNaN)
}

export interface CheckpointSettings {
  readonly dir: string
  /** Iterations; Infinity: only when the central model is measured. */
  readonly period: number
  readonly keep: number
  /** `auto`, `never`, or the absolute path of a checkpoint. */
  readonly resume: string
  /** The same as it was given, for messages. */
  readonly resumeAsGiven: string
  /** The run goes back to its newest checkpoint, or to its start, because the loss was not a finite number. */
  readonly goesBack?: boolean
}

/** undefined: no checkpoints. The folders stay the same where the process changes its working directory while it trains. */
export function checkpointSettings(given: CheckedOptions<typeof checkpoint> | undefined): CheckpointSettings | undefined {
  if (!given) return undefined
  const { dir: folder, resume, period = Infinity } = given
  const from = resume === 'auto' || resume === 'never' ? resume : absolutePath(resume)
  return { ...given, dir: absolutePath(folder), resume: from, resumeAsGiven: resume, period }
}
