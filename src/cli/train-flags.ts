import type { Command } from 'commander'
import { datasetNames, zoo, type TrainOptions } from '../index.js'
import { realNumber, wholeNumber } from './numbers.js'

/** What commander makes of the flags of `train`: only those that were given. */
export interface TrainFlags {
  readonly model?: string
  readonly data?: string
  readonly dataDir?: string
  readonly batch?: number
  readonly learners?: number
  readonly epochs?: number
  readonly steps?: number
  readonly rate?: number
  readonly momentum?: number
  readonly weightDecay?: number
  readonly sync?: string
  readonly every?: number
  readonly alpha?: number
  readonly syncMomentum?: number
  readonly precision?: string
  readonly backend?: string
  readonly seed?: number
  readonly threads?: number
  readonly learner?: string
}

/** What is trained where neither a flag nor a config says. */
const DEFAULT_MODEL = 'lenet'

/** Where in TrainOptions a flag's value belongs: the name that the options' own errors use. */
const PLACE = {
  model: 'model',
  data: 'data',
  dataDir: 'dataDir',
  batch: 'batch',
  learners: 'learners',
  epochs: 'until.epochs',
  steps: 'until.steps',
  rate: 'optimiser.rate',
  momentum: 'optimiser.momentum',
  weightDecay: 'optimiser.weightDecay',
  sync: 'synchroniser.name',
  every: 'synchroniser.period',
  alpha: 'synchroniser.alpha',
  syncMomentum: 'synchroniser.syncMomentum',
  precision: 'precision',
  backend: 'backend',
  seed: 'seed',
  threads: 'threads',
  learner: 'learner'
} as const satisfies Record<keyof TrainFlags, string>

export function addTrainFlags(command: Command): Command {
  const whole = (flag: string, value: string, text: string) => command.option(`--${flag} <${value}>`, text, wholeNumber(`--${flag}`))
  const real = (flag: string, value: string, text: string) => command.option(`--${flag} <${value}>`, text, realNumber(`--${flag}`))

  command.option('--model <name>', `${Object.keys(zoo).join(', ')} (${DEFAULT_MODEL})`)
  command.option('--data <name>', `${datasetNames.join(', ')} (digits, which are generated)`)
  command.option('--data-dir <folder>', "where the data set's files lie")
  whole('batch', 'samples', 'samples a learner takes in a step')
  whole('learners', 'count', 'learners that train together (as many as cores)')
  real('epochs', 'count', 'passes over the training set')
  whole('steps', 'count', 'steps of each learner, instead of epochs')
  real('rate', 'number', 'learning rate')
  real('momentum', 'number', "the learners' own momentum")
  real('weight-decay', 'number', 'weight decay')
  command.option('--sync <rule>', 'how the learners are kept together: sma')
  whole('every', 'iterations', 'iterations between two corrections, tau (1)')
  real('alpha', 'number', 'how far a correction goes (min(1/k, 1/2) for k learners)')
  real('sync-momentum', 'number', "the central model's momentum, mu")
  command.option('--precision <type>', 'f32, or bf16 where the processor has it (f32)')
  command.option('--backend <name>', 'cpu, or reference: plain loops to compare with (cpu)')
  whole('seed', 'number', 'of the first weights, the order of samples and all that is random (1)')
  whole('threads', 'count', 'threads of one learner (1)')
  command.option('--learner <file>', 'a module that exports a learner of your own (docs/write-a-learner.md)')
  return command
}

/** The config's options, with the flags in their places over them. */
export function trainOptionsOf(flags: TrainFlags, config: Partial<TrainOptions> = {}): TrainOptions {
  const options: Record<string, unknown> = { model: DEFAULT_MODEL, ...config }
  for (const [flag, place] of Object.entries(PLACE)) {
    const value = flags[flag as keyof TrainFlags]
    if (value === undefined) continue
    const [outer, inner] = place.split('.') as [string, string?]
    options[outer] = inner === undefined ? value : { ...(options[outer] as object | undefined), [inner]: value }
  }
  // What came as text is checked by `train`, as what comes from JavaScript is.
  return options as unknown as TrainOptions
}

/** The flag by which the option at `place` was given, if it was: `optimiser.rate` is `--rate` to who typed it. */
export function flagOf(place: unknown, flags: TrainFlags): string | undefined {
  const [flag] = Object.entries(PLACE).find(([, each]) => each === place) ?? []
  if (flag === undefined || flags[flag as keyof TrainFlags] === undefined) return undefined
  return `--${flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
