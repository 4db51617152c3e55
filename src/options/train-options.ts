import type { NamedRule, RuleName } from '../rules/rules.js'
import type { BackendName, Precision } from '../compiler/program.js'
import type { Dataset } from '../data/dataset.js'
import type { ImageFolderOptions } from '../data/images/image-options.js'
import type { ImportOptions } from '../formats/import-weights.js'
import type { Model } from '../model/model.js'
import type { GptOptions } from '../model/zoo/index.js'
import type { LearningRateSchedule } from '../schedules/rate-schedule.js'
import type { Duration } from '../schedules/span.js'
import type { PopulationSchedule } from '../schedules/population.js'
import type { EvaluatedEvent } from '../observe/events.js'
import type { LevelName } from '../engine/contract.js'

/** What `train` takes. Whatever is left out gets the default that suits the model. */
export interface TrainOptions {
  /** A Model, or the name of one in the zoo: `lenet`, `resnet20`. */
  readonly model: Model | string
  /** Of model `gpt`, where it is not the usual one: `{ layers: 6, heads: 6, width: 384 }`. */
  readonly size?: GptOptions
  /**
   * A Dataset, or the name of one: `digits` (generated, and the default), `mnist`, `fashion-mnist`, `cifar-10`, `cifar-100`, `cifar-100-coarse`,
   * `tinyshakespeare`; or a folder of images, with a folder in it for each class.
   */
  readonly data?: Dataset | string
  /** The folder that holds the files of a named data set, or its parent; if left out, the environment's ARBALEST_DATA, else `data`. */
  readonly dataDir?: string
  /** Characters of a window, where `data` names a text: 128 if left out. */
  readonly context?: number
  /** How the images of a folder become samples. */
  readonly images?: ImageFolderOptions
  /** Samples a learner takes in a step. */
  readonly batch?: number
  /**
   * How many learners train together. `auto`, as where it is left out: measured while they train, and changed where another number is faster;
   * which samples a learner takes then depends on what was measured. With a number, or a schedule that was recorded, it does not.
   */
  readonly learners?: number | 'auto' | LearnersOptions
  readonly optimiser?: OptimiserName | OptimiserOptions
  /** How the learners are kept together, by name or with options; `sma` if left out. See docs/synchronisers.md. */
  readonly synchroniser?: RuleName | SynchroniserOptions | OwnRuleOptions
  /** What is evaluated, saved and exported in the place of the central model itself. */
  readonly average?: AverageOptions['name'] | AverageOptions
  readonly until?: UntilOptions
  /** Of softmax cross-entropy in training, in the place of the model's own: 0.1 spreads a tenth of each target evenly over all classes. */
  readonly labelSmoothing?: number
  /** Tells in every evaluation how often the right class is among so many likeliest, as `testTopK`. */
  readonly topK?: number
  /**
   * What stays as it is, bit for bit: names of layers or parameters, where `*` stands for anything, as in `['conv1', 'layer1.*.weight']`; besides the
   * model's own frozen layers.
   */
  readonly freeze?: readonly string[]
  readonly precision?: Exclude<Precision, 'f64'>
  readonly backend?: BackendName
  readonly seed?: number
  /** Weights to begin with instead of random ones, as for fine-tuning: a safetensors file, or one with the ways to read it. */
  readonly initialWeights?: string | InitialWeightsOptions
  /** Threads of one learner. */
  readonly threads?: number
  /**
   * Groups of cores, as the sockets of a machine are: their number, or the cores of each. Learners are spread over them and keep to their device's
   * cores; each device sums what its learners bring and has its own copy of the central model. 1 if left out: all cores. Under backend `cuda` they are
   * the machine's GPUs, device i being GPU i, and `cores` those that drive it. See docs/synchronisers.md.
   */
  readonly devices?: number | readonly DeviceOptions[]
  /** `loopback`: what goes to other hosts comes back from this one, all the way but for the network. Left out, there are no other hosts. */
  readonly hosts?: 'loopback'
  /** The order in which the devices' sums and the hosts' are made, from the bottom, as in `['devices', 'hosts']`; by measured speed if left out. */
  readonly levels?: readonly LevelName[]
  /** Stops the job as `job.stop()` does. */
  readonly signal?: AbortSignal
  /** The module of a learner of one's own: its address, or the path of its file. It exports a class or function that takes a LearnerContext. */
  readonly learner?: URL | string
  /** What every learner gets as its `options`: anything that can be posted to a thread. */
  readonly learnerOptions?: unknown
  readonly supervision?: SupervisionOptions
  /** Writes down what the actors do, for Perfetto or chrome://tracing: the file's path. */
  readonly trace?: string | TraceOptions
  /** Compiles, tells the plan and the memory as event `planned`, takes two steps and ends: nothing is learnt, and nothing logged. */
  readonly dryRun?: boolean
  /** Trains on so many batches only, unchanged, and measures on the same: a model that cannot learn these by heart has a fault. */
  readonly overfit?: number
  /** What to do where the loss is no finite number any more; if left out, the run ends with LOSS_NOT_FINITE. */
  readonly onNaN?: NotFiniteOptions
  /** Epochs, also parts of one, from one measurement of the central model to the next; 1 if left out. */
  readonly evaluateEvery?: number
  /** Which central model the trained model is: the `last` one (if left out), or the one that was measured best. */
  readonly keep?: 'last' | 'best'
  /** Called after each measurement, and waited for; the run ends there if it gives `stop`. What it throws ends the run as its failure. */
  readonly onEvaluated?: (event: EvaluatedEvent) => Verdict | Promise<Verdict>
  /** Milliseconds in which `onEvaluated` is to answer: the run fails with DEADLINE_EXCEEDED if it does not; no limit if left out. */
  readonly onEvaluatedDeadline?: number
  /** A file to which every event is appended as a line of JSON; `arbalest runs` reads it. */
  readonly log?: string
  /** The same in a file of the run's own in this folder, which is made. */
  readonly logDir?: string
  /** A folder for TensorBoard: the run's curves, in a folder of its own. */
  readonly tensorboard?: string
  /** Where checkpoints are kept, so that the same call goes on where a run has stopped, however it stopped. */
  readonly checkpoint?: string | CheckpointOptions
}

/** Back to the newest checkpoint, or to the start where there is none, with a lower rate from there on. */
export interface NotFiniteOptions {
  /** What the rates are multiplied by, each time; 0.5 if left out. */
  readonly learningRateFactor?: number
  /** How often; 3 if left out. */
  readonly retries?: number
}

/** Where a run is kept, so that the same command or program goes on with it after any stop. */
export interface CheckpointOptions {
  /** A folder of its own for each run. */
  readonly dir: string
  /** Iterations between two checkpoints, taken at the next round; whenever the central model is measured, too. */
  readonly period?: number
  /** How many of the newest stay, beside the best measured one; 3 if left out. */
  readonly keep?: number
  /** `auto`, as where it is left out: from the newest whole checkpoint in `dir`, if there is one. `never`, or the path of a checkpoint. */
  readonly resume?: 'auto' | 'never' | (string & {})
}

/** A safetensors file of first weights; `reinitialise: ['fc']` replaces the head. A shape that does not fit is refused, all of them at once. */
export interface InitialWeightsOptions extends Omit<ImportOptions, 'seed'> {
  readonly file: string
}

/** Where the trace of a run is written, for Perfetto or chrome://tracing, and how fine it is. */
export interface TraceOptions {
  readonly file: string
  /**
   * So many first steps of each learner are shown in their segments, `load` and `exchange` among them; 20 if left out. What follows, and all with 0, is
   * shown as calls of many steps, up to 50 ms each. Learners that share memory for activations, being more than the cores, have their own from then on.
   */
  readonly steps?: number
}

/** Cores by their numbers, as the system has them. */
export interface DeviceOptions {
  readonly cores: readonly number[]
}

/** How the number of learners is found, or what it shall be round by round. */
export interface LearnersOptions {
  /** How many there are at first; as many as there are cores if left out. What is found does not depend on it. */
  readonly initial?: number
  /** No more than these; three a core if left out, and never more than memory holds. */
  readonly max?: number
  /** A learner more is worth having where it raises throughput by more than this share; 0.04 if left out. */
  readonly threshold?: number
  /** Seconds of training in a measuring window; 0.5 if left out. */
  readonly window?: number
  /** In the place of all others: the `population` of a run that has finished, which is repeated bit for bit. */
  readonly schedule?: PopulationSchedule
}

/** `stop` ends the run; anything else lets it go on. */
export type Verdict = 'stop' | void

/** What happens to learners that die: each is replaced by one that starts from the central model, until too many have died in one place. */
export interface SupervisionOptions {
  /** How many may be replaced in one place within `window`; 3 if left out, 0 for none. */
  readonly restarts?: number
  /** Milliseconds; a minute if left out. */
  readonly window?: number
  /** Milliseconds without a step after which a learner that waits for nobody is given up; a minute if left out. */
  readonly deadline?: number
}

/** What `optimiser.schedule` and `--lr-schedule` name: the course of a rate that is a number. */
export type ScheduleName = Exclude<LearningRateSchedule['kind'], 'warmup'>

/** The optimisers, each by PyTorch's formula; `lars` as in You et al., 2017. */
export type OptimiserName = 'sgd' | 'adam' | 'adamw' | 'lars'

/**
 * How learners step along their gradients: SGD with momentum and weight decay where no name is given. The formulas are PyTorch's; what is left out of
 * `sgd` and `lars` suits the model: momentum, weight decay, a rate and its course. `adam` and `adamw` have PyTorch's numbers, and the model's course.
 */
export interface OptimiserOptions {
  readonly name?: OptimiserName
  /**
   * Learning rate: a number, whose course over the run `schedule` names, or a schedule such as `cosine({ learningRate: 0.1 })`. What is left out suits the model,
   * the batch, and rules that add up what their learners do.
   */
  readonly learningRate?: number | LearningRateSchedule
  /**
   * The course of a rate that is a number; one that suits the model if left out, and `multistep` where there are `milestones` or a `gamma`. `multistep`
   * has drops that suit the model, `step` drops after each third of the run, `exponential` falls to 1% over the run.
   */
  readonly schedule?: ScheduleName
  /** Epochs, or another span, in which the rate rises linearly from 0 to what the schedule says. */
  readonly warmup?: Duration
  /** The learner's own momentum; of `sgd` and `lars`. */
  readonly momentum?: number
  readonly weightDecay?: number
  readonly nesterov?: boolean
  /** Of `adam` and `adamw`; 0.9, 0.999 and 1e-8 if left out. */
  readonly beta1?: number
  readonly beta2?: number
  readonly epsilon?: number
  /** Of `lars`: the gradient of each parameter of more than one dimension is multiplied by trust |w| / (|g| + weightDecay |w|); 0.001 if left out. */
  readonly trustCoefficient?: number
  /** The largest norm of the gradient of all parameters together. */
  readonly clipNorm?: number
  /** The largest absolute value of an element of the gradient, after `clipNorm`. */
  readonly clipValue?: number
  /** Batches whose mean gradient makes one step: an iteration takes so many times the batch. */
  readonly accumulate?: number
  /** Epochs at which the rate is multiplied by `gamma` (0.1); under `sma` and its kin every learner then starts anew from the central model. */
  readonly milestones?: readonly number[]
  readonly gamma?: number
}

/** A rule by its name, with the options that it has. */
export type SynchroniserOptions = NamedRule

/** A rule of one's own: the module whose default export is a RuleModule, and what that is given. */
export interface OwnRuleOptions {
  readonly module: URL | string
  readonly options?: unknown
}

/** An average of the central model that is evaluated, saved and exported in its place; it takes no part in training. */
export type AverageOptions =
  /** The mean of all of them, one each round, weighted by decay to the power of their ages in rounds; decay is 0.999 if left out. */
  | { readonly name: 'ema'; readonly decay?: number }
  /** The mean of the central models every `period` epochs (1) from epoch `startEpoch` on (0). */
  | { readonly name: 'swa'; readonly startEpoch?: number; readonly period?: number }
  /** The mean of the last `window` of those (6). */
  | { readonly name: 'lawa'; readonly window?: number; readonly startEpoch?: number; readonly period?: number }

/** When to end; whichever comes first. */
export interface UntilOptions {
  readonly epochs?: number
  /** Iterations: steps of each learner. */
  readonly steps?: number
  /** Of training, without set-up and evaluation: the run ends at the next round. */
  readonly seconds?: number
  /** Test accuracy that is enough, a share of at most 1. */
  readonly accuracy?: number
  /** Test loss that is low enough. */
  readonly loss?: number
  /** Measurements in a row without an improvement by more than `minDelta` after which the run ends. */
  readonly patience?: number
  /** 0 if left out. */
  readonly minDelta?: number
  /** What shall improve: `accuracy` if left out, `loss` where there is no accuracy. */
  readonly monitor?: 'accuracy' | 'loss'
}
