import type { Command } from 'commander'
import { datasetNames, ruleNames, zoo, type Config, type TrainOptions } from '../index.js'
import { devicesFlag, learnersFlag, realNumber, wholeNumber } from './flag-values.js'
import { addSizeFlags, type SizeFlags } from './size-flags.js'

/** What commander makes of the flags of `train`: only those that were given. */
export interface TrainFlags extends SizeFlags {
  readonly model?: string
  readonly data?: string
  readonly dataDir?: string
  readonly context?: number
  readonly imageSize?: number
  readonly batch?: number
  readonly learners?: TrainOptions['learners']
  readonly epochs?: number
  readonly steps?: number
  readonly learningRate?: number
  readonly lrSchedule?: string
  readonly warmup?: number
  readonly labelSmoothing?: number
  readonly topK?: number
  readonly freeze?: readonly string[]
  readonly momentum?: number
  readonly weightDecay?: number
  readonly optimiser?: string
  readonly clipNorm?: number
  readonly clipValue?: number
  readonly accumulate?: number
  readonly synchroniser?: string
  readonly syncModule?: string
  readonly period?: number
  readonly alpha?: number
  readonly syncMomentum?: number
  readonly lockstep?: boolean
  readonly outerLr?: number
  readonly outerMomentum?: number
  readonly pushPeriod?: number
  readonly fetchPeriod?: number
  readonly bound?: string
  readonly slack?: number
  readonly average?: string
  readonly precision?: string
  readonly backend?: string
  readonly seed?: number
  readonly initialWeights?: string
  readonly reinitialise?: readonly string[]
  readonly threads?: number
  readonly devices?: TrainOptions['devices']
  readonly hosts?: string
  readonly levels?: readonly string[]
  readonly learner?: string
  readonly trace?: string
  readonly traceSteps?: number
  readonly seconds?: number
  readonly untilAccuracy?: number
  readonly untilLoss?: number
  readonly patience?: number
  readonly minDelta?: number
  readonly dryRun?: boolean
  readonly overfit?: number
  readonly evaluateEvery?: number
  readonly metrics?: readonly string[]
  readonly keep?: string
  readonly logEvery?: number
  readonly log?: string
  readonly logDir?: string
  readonly tensorboard?: string
  readonly checkpointDir?: string
  readonly checkpointPeriod?: number
  readonly checkpointKeep?: number
  readonly resume?: string
  readonly nanLrFactor?: number
  readonly nanRetries?: number
}

/** What is trained where neither a flag nor a config says. */
const DEFAULT_MODEL = 'lenet'

/** Where in TrainOptions a flag's value belongs: the name that the options' own errors use. */
const PLACE = {
  model: 'model',
  layers: 'size.layers',
  heads: 'size.heads',
  width: 'size.width',
  dropout: 'size.dropout',
  data: 'data',
  dataDir: 'dataDir',
  context: 'context',
  imageSize: 'images.size',
  batch: 'batch',
  learners: 'learners',
  epochs: 'until.epochs',
  steps: 'until.steps',
  learningRate: 'optimiser.learningRate',
  lrSchedule: 'optimiser.schedule',
  warmup: 'optimiser.warmup',
  labelSmoothing: 'labelSmoothing',
  topK: 'topK',
  freeze: 'freeze',
  momentum: 'optimiser.momentum',
  weightDecay: 'optimiser.weightDecay',
  optimiser: 'optimiser.name',
  clipNorm: 'optimiser.clipNorm',
  clipValue: 'optimiser.clipValue',
  accumulate: 'optimiser.accumulate',
  synchroniser: 'synchroniser.name',
  syncModule: 'synchroniser.module',
  period: 'synchroniser.period',
  alpha: 'synchroniser.alpha',
  syncMomentum: 'synchroniser.syncMomentum',
  lockstep: 'synchroniser.lockstep',
  outerLr: 'synchroniser.outerLearningRate',
  outerMomentum: 'synchroniser.outerMomentum',
  pushPeriod: 'synchroniser.pushPeriod',
  fetchPeriod: 'synchroniser.fetchPeriod',
  bound: 'synchroniser.bound',
  slack: 'synchroniser.slack',
  average: 'average.name',
  precision: 'precision',
  backend: 'backend',
  seed: 'seed',
  initialWeights: 'initialWeights.file',
  reinitialise: 'initialWeights.reinitialise',
  threads: 'threads',
  devices: 'devices',
  hosts: 'hosts',
  levels: 'levels',
  learner: 'learner',
  trace: 'trace.file',
  traceSteps: 'trace.steps',
  seconds: 'until.seconds',
  untilAccuracy: 'until.accuracy',
  untilLoss: 'until.loss',
  patience: 'until.patience',
  minDelta: 'until.minDelta',
  dryRun: 'dryRun',
  overfit: 'overfit',
  evaluateEvery: 'evaluateEvery',
  metrics: 'metrics',
  keep: 'keep',
  logEvery: 'logEvery',
  log: 'log',
  logDir: 'logDir',
  tensorboard: 'tensorboard',
  checkpointDir: 'checkpoint.dir',
  checkpointPeriod: 'checkpoint.period',
  checkpointKeep: 'checkpoint.keep',
  resume: 'checkpoint.resume',
  nanLrFactor: 'onNaN.learningRateFactor',
  nanRetries: 'onNaN.retries'
} as const satisfies Record<keyof TrainFlags, string>

export function addTrainFlags(command: Command): Command {
  const whole = (flag: string, value: string, text: string) => command.option(`--${flag} <${value}>`, text, wholeNumber(`--${flag}`))
  const real = (flag: string, value: string, text: string) => command.option(`--${flag} <${value}>`, text, realNumber(`--${flag}`))

  command.option(
    '--config <file>',
    'options from a module (arbalest.config.ts of the working folder, where there is one); flags come over them'
  )
  command.option('--no-config', 'leave the config of the working folder alone')
  command.option('--model <name>', `${Object.keys(zoo).join(', ')} (${DEFAULT_MODEL})`)
  addSizeFlags(command)
  command.option('--data <name>', `${datasetNames.join(', ')} (digits, which are generated), or a folder of images`)
  command.option('--data-dir <folder>', "where the data set's files lie")
  whole('context', 'characters', 'of a text that a model sees at once (128)')
  whole('image-size', 'pixels', 'height and width to which the images of a folder are cut (those that suit the model)')
  whole('batch', 'samples', 'samples a learner takes in a step')
  command.option(
    '--learners <count>',
    'learners that train together: a number, @file or JSON of a schedule, or auto: measured (auto)',
    learnersFlag
  )
  real('epochs', 'count', 'passes over the training set')
  whole('steps', 'count', 'steps of each learner, instead of epochs')
  real('seconds', 'count', 'of training, at most')
  real('until-accuracy', 'share', 'end when the test accuracy is so high, 0 to 1')
  real('until-loss', 'number', 'end when the test loss is so low')
  whole('patience', 'count', 'end after so many measurements in a row without improvement')
  real('min-delta', 'number', 'what counts as an improvement, for --patience (0)')
  command.option('--dry-run', 'compile, tell plan and memory, take two steps and end')
  whole('overfit', 'batches', 'train on so many batches only and say whether the loss collapses: a test of model and data')
  real('evaluate-every', 'epochs', 'from one measurement to the next, also parts of an epoch (1)')
  command.option(
    '--metrics <names>',
    'what each measurement also tells: confusion, perClass, precision, recall, f1, r2, mae, rmse',
    (names: string) => names.split(',')
  )
  command.option('--keep <which>', 'last, or best: the central model that was measured best (last)')
  command.option('--lr, --learning-rate <number>', 'learning rate', realNumber('--learning-rate'))
  command.option('--lr-schedule <name>', 'constant, step, multistep, exponential, inverse, cosine, one-cycle (what suits the model)')
  real('warmup', 'epochs', 'in which the learning rate rises linearly to what its schedule says (0)')
  real('label-smoothing', 'number', 'share of each target that is spread over all classes (0)')
  whole('top-k', 'count', 'tells how often the right class is among so many likeliest')
  command.option('--freeze <names>', 'layers that stay as they are, as conv1,layer1.*', (names: string) => names.split(','))
  real('momentum', 'number', "the learners' own momentum")
  real('weight-decay', 'number', 'weight decay')
  command.option('--optimiser <name>', 'sgd, adam, adamw or lars (sgd)')
  real('clip-norm', 'number', "the largest norm of a step's gradient")
  real('clip-value', 'number', "the largest absolute value in a step's gradient")
  whole('accumulate', 'count', 'batches whose mean gradient makes one step (1)')
  command.option('--sync, --synchroniser <rule>', `how the learners are kept together: ${ruleNames.join(', ')} (sma)`)
  command.option('--sync-module <file>', 'a module that exports a rule of your own (docs/synchronisers.md)')
  whole('period', 'iterations', 'iterations of a round, tau (1 under sma)')
  real('alpha', 'number', 'how far a correction goes (min(1/k, 1/2) for k learners)')
  real('sync-momentum', 'number', "the central model's momentum, mu, under sma")
  command.option('--lockstep', "a round's last step is taken by all learners at once, under sma, easgd and eamsgd: meant for GPUs")
  real('outer-lr', 'number', 'learning rate of the outer step of lookahead, slowmo and diloco')
  real('outer-momentum', 'number', 'its momentum, of slowmo and diloco')
  whole('push-period', 'iterations', 'iterations between two pushes of a learner, under downpour (1)')
  whole('fetch-period', 'iterations', 'iterations between two fetches of a learner, under downpour (1)')
  command.option('--bound <name>', 'how far apart asynchronous learners may be: bsp, ssp or asp (asp)')
  whole('slack', 'iterations', 'how far ahead of the slowest, under ssp (3)')
  command.option('--average <name>', 'an average of the central model that is evaluated in its place: ema, swa or lawa')
  command.option('--precision <type>', 'f32, or bf16 where the processor has it (f32)')
  command.option('--backend <name>', 'cpu; cuda: an NVIDIA GPU; reference: plain loops to compare with (cpu)')
  whole('seed', 'number', 'of the first weights, the order of samples and all that is random (1)')
  command.option('--initial-weights <file>', 'weights to begin with: safetensors, as for fine-tuning')
  command.option(
    '--reinitialise <pattern...>',
    'with --initial-weights: layers that start from random weights, as a new head: fc, layer4.*'
  )
  whole('threads', 'count', 'threads of one learner (1)')
  command.option(
    '--devices <cores>',
    'groups of cores, or GPUs, that average among themselves first: how many, or as 0-3:4-7 (1)',
    devicesFlag
  )
  command.option('--hosts <name>', 'loopback: what goes to other hosts comes back from this one, for trying out')
  command.option('--levels <names>', 'devices,hosts or hosts,devices: the order of averaging (measured)', (names: string) =>
    names.split(',')
  )
  command.option('--learner <file>', 'a module that exports a learner of your own (docs/write-a-learner.md)')
  command.option('--save <file>', 'where the trained model is written in the end, .safetensors or .onnx')
  command.option('--trace <file>', 'writes down what the actors do, for Perfetto or chrome://tracing')
  whole('trace-steps', 'count', 'first steps of each learner that a trace shows in their segments, as load and exchange (20)')
  whole(
    'log-every',
    'iterations',
    'from one progress event to the next, so that the curves of runs have the same points (a few events a second)'
  )
  command.option('--log <file>', 'every event as a line of JSON, appended; arbalest runs reads it')
  command.option('--log-dir <folder>', 'the same in a file of its own in this folder')
  command.option('--tensorboard <folder>', 'curves for TensorBoard')
  command.option('--checkpoint-dir <folder>', 'keeps checkpoints there, and goes on from the newest whole one')
  whole('checkpoint-period', 'steps', 'iterations between two checkpoints; at each measurement there is one, too')
  whole('checkpoint-keep', 'count', 'how many of the newest checkpoints stay, beside the best (3)')
  real(
    'nan-lr-factor',
    'number',
    'where the loss is no number any more: back to the newest checkpoint, with learning rates times this (0.5)'
  )
  whole('nan-retries', 'count', 'how often to go back so (3, with --nan-lr-factor)')
  command.option('--resume <which>', 'auto, never, or the path of a checkpoint (auto)')
  return command
}

/** What there is of several kinds, each with options of its own: the flags that say which, and the kind where nobody does. */
const KINDS: Readonly<Record<string, { readonly flags: readonly (keyof TrainFlags)[]; readonly usual?: string }>> = {
  optimiser: { flags: ['optimiser'], usual: 'sgd' },
  synchroniser: { flags: ['synchroniser', 'syncModule'], usual: 'sma' },
  average: { flags: ['average'] }
}

/** Whether a flag names another one than the config does: what the config says of that one is not meant for this. */
function isReplaced(group: string, flags: TrainFlags, configured: unknown): boolean {
  const { flags: naming, usual } = KINDS[group]!
  const named = naming.map((flag) => flags[flag]).find((value) => value !== undefined)
  const { name, module } = groupOf(configured, group) as { readonly name?: unknown; readonly module?: unknown }
  return named !== undefined && named !== (module === undefined ? (name ?? usual) : undefined)
}

/** The config's options, with the flags in their places over them. */
export function trainOptionsOf(flags: TrainFlags, config: Config = {}): TrainOptions {
  const options: Record<string, unknown> = { model: DEFAULT_MODEL, ...config }
  for (const group of Object.keys(KINDS)) if (isReplaced(group, flags, options[group])) delete options[group]
  for (const [flag, place] of Object.entries(PLACE)) {
    const value = flags[flag as keyof TrainFlags]
    if (value === undefined) continue
    const [outer, inner] = place.split('.') as [string, string?]
    options[outer] = inner === undefined ? value : { ...groupOf(options[outer], outer), [inner]: value }
  }
  // What came as text is checked by `train`, as what comes from JavaScript is.
  return options as unknown as TrainOptions
}

/** What a group of options is called for where it is given as a text alone. */
const SHORT_FOR: Readonly<Record<string, string>> = { initialWeights: 'file', trace: 'file', synchroniser: 'name', checkpoint: 'dir' }

function groupOf(option: unknown, group: string): object {
  return typeof option === 'string' ? { [SHORT_FOR[group] ?? 'name']: option } : { ...(option as object | undefined) }
}

/** The flag of the option at `place`, if it is among the given flags, or any flag without them: `optimiser.learningRate` is `--learning-rate`. */
export function flagOf(place: unknown, flags?: TrainFlags): string | undefined {
  const [flag] = Object.entries(PLACE).find(([, each]) => each === place) ?? []
  if (flag === undefined || (flags && flags[flag as keyof TrainFlags] === undefined)) return undefined
  return `--${flag.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}
