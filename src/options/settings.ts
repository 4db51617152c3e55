import { imageFolderPlan } from '../data/images/image-options.js'
import { isTablePath } from '../data/tables/table-file.js'
import type { EvaluationAverage } from '../engine/contract.js'
import { readFolder, type HuggingFaceFolder } from '../formats/huggingface/folder.js'
import type { Model } from '../model/model.js'
import { imageSizeOf } from '../model/zoo/index.js'
import { mostLearners } from '../schedules/population.js'
import { Faults } from '../schema/faults.js'
import type { CheckedOptions } from '../schema/group.js'
import { averageSettings } from './average.js'
import { checkpointSettings, type CheckpointSettings } from './checkpoint.js'
import { checkData } from './data.js'
import { defaultsFor, fineTuning, type Defaults } from './defaults.js'
import { devicesSettings, type DevicesSettings } from './devices.js'
import { populationSettings, type PopulationSettings } from './learners.js'
import { checkInitial, checkSize } from './model.js'
import { optimiserSettings, type OptimiserSettings } from './optimiser.js'
import { addsUpdates, hasNesterovLearners, isStableWith, synchroniserSettings, type SynchroniserSettings } from './synchroniser.js'
import { trainOptions, type TrainOptions } from './train-options.js'
import { endsByTimeAlone, untilSettings, type UntilSettings } from './until.js'

type Checked = CheckedOptions<typeof trainOptions>

/** A run's options, checked, with every default filled in. `Completed` has those whose defaults depend on other options or on the model. */
export interface Settings
  extends Omit<Checked, keyof Completed | 'hosts' | 'ruleAt' | 'order' | 'exchange' | 'racks' | 'link' | 'levels'>, Completed {}

interface Completed {
  readonly model: Model | string
  readonly batch: number
  /** At the start. */
  readonly learners: number
  readonly population: PopulationSettings
  readonly optimiser: OptimiserSettings
  readonly synchroniser: SynchroniserSettings
  /** In epochs. */
  readonly average: EvaluationAverage | undefined
  readonly until: UntilSettings
  readonly devices: DevicesSettings
  readonly checkpoint: CheckpointSettings | undefined
  /** The factor of all learning rates: 1 until a loss was not finite. */
  readonly learningRateScale: number
}

/** Passes over a table: its rows are few and small where images are many. */
const TABLE_EPOCHS = 20

function defaultsOf(model: string, data: Checked['data'] | undefined): Defaults {
  const defaults = defaultsFor(model)
  const isTable = typeof data === 'string' ? isTablePath(data) : data?.encoding?.kind === 'table'
  return isTable ? { ...defaults, epochs: Math.max(defaults.epochs, TABLE_EPOCHS) } : defaults
}

/** How a folder's model takes images. How they are scaled before the crop is only for the folder's own size. */
function imagesOf({ pixels, model: { imageSize, channels = 3 } }: HuggingFaceFolder, given: number | undefined): Checked['images'] {
  const { normalisation, size = imageSize, resize, stretch } = pixels ?? {}
  const each = (numbers: readonly number[], otherwise: number) => (numbers.length > 0 ? numbers : Array<number>(channels).fill(otherwise))
  return {
    ...(size !== undefined && { size }),
    ...(resize !== undefined && (given ?? size) === size && { resize, ...(stretch && { stretch }) }),
    ...((channels === 1 || channels === 3) && {
      channels,
      ...(normalisation && { mean: each(normalisation.mean, 0), std: each(normalisation.std, 1) })
    })
  } as Checked['images']
}

/** Steps enough to overfit a few batches. */
const OVERFIT = { steps: 500 }

/** Checks every option before any work is done. Throws INVALID_OPTION and UNKNOWN_NAME, with all faults at once as `data.faults`. */
export function settingsOf(given: TrainOptions): Settings {
  const faults = new Faults()
  const checked = faults.checked(trainOptions, given, { root: trainOptions.entries })
  const { model, initial, size, initialWeights } = given
  checkInitial(faults, { model, initial, size, initialWeights })
  // Read the folder only if nothing is at fault so far; if it cannot be read, its error is the only one reported.
  const folder = faults.none && checked.initial !== undefined ? readFolder(checked.initial) : undefined
  const settings = completed(faults, checked, folder)
  // Skip checks against the data if `data` itself was refused.
  if (given.data === undefined || checked.data === given.data) checkData(faults, { ...settings, images: given.images, table: given.table })
  if (settings.learnerOptions !== undefined && given.learner === undefined)
    faults.refuse('learnerOptions', settings.learnerOptions, 'leave it out: only a learner of your own takes options')
  if (given.until?.minDelta !== undefined && given.until.patience === undefined)
    faults.refuse('until.minDelta', given.until.minDelta, 'leave it out, or use it together with patience')
  if (given.onEvaluatedDeadline !== undefined && given.onEvaluated === undefined)
    faults.refuse('onEvaluatedDeadline', given.onEvaluatedDeadline, 'leave it out, or use it together with onEvaluated')
  faults.throwAny()
  return settings
}

function completed(
  faults: Faults,
  { hosts, ruleAt, order, exchange, racks, link, levels, ...options }: Checked,
  folder: HuggingFaceFolder | undefined
): Settings {
  const { threads, backend } = options
  // `modelFor({})` has no shapes from the data: only its name is used.
  const model = options.model ?? folder?.model.modelFor({}).name ?? ''
  checkSize(faults, options.size, model)
  // A model at fault is missing here.
  const usual = defaultsOf(typeof model === 'string' ? model : ((model as typeof model | undefined)?.name ?? ''), options.data)
  const defaults = folder ? fineTuning(usual) : usual
  const devices = devicesSettings(faults, {
    backend,
    ...present({ devices: options.devices, hosts, ruleAt, order, exchange, racks, link, levels })
  })
  const rule = synchroniserSettings(new Faults(), options.synchroniser, 1)
  const isStable = (learners: number) => isStableWith(rule, learners)
  const population = populationSettings(faults, options.learners, { threads, devices: devices.devices, isStable })
  const most = mostLearners({ schedule: population.schedule })
  const synchroniser = synchroniserSettings(faults, options.synchroniser, most)
  const { batch = defaults.batch } = options
  const size = imageSizeOf(model)
  const images = { ...(size !== undefined && { size }), ...(folder && imagesOf(folder, options.images.size)), ...options.images }
  faults.attempt(() => imageFolderPlan(images, 'images'))
  return {
    ...options,
    model,
    images,
    learners: population.schedule[0]!.learners,
    population,
    batch,
    optimiser: optimiserSettings(faults, options.optimiser, {
      // A run limited by time alone has no known length for a one-cycle schedule.
      defaults: endsByTimeAlone(options.until) ? { ...defaults, schedule: 'multistep' } : defaults,
      batch,
      nesterov: hasNesterovLearners(synchroniser),
      adds: addsUpdates(synchroniser)
    }),
    synchroniser,
    average: averageSettings(options.average),
    until: untilSettings(options.until ?? (options.overfit === undefined ? {} : OVERFIT), defaults),
    devices,
    checkpoint: checkpointSettings(options.checkpoint),
    learningRateScale: 1
  }
}

type Given<Options> = { readonly [Name in keyof Options]?: Exclude<Options[Name], undefined> }

function present<Options extends object>(options: Options): Given<Options> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Given<Options>
}

/** Samples that a learner takes in an iteration. */
export function iterationSamples({ batch, optimiser }: Pick<Settings, 'batch' | 'optimiser'>): number {
  return batch * (optimiser.update.accumulate ?? 1)
}
