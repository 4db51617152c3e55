import { type Dataset, isStreamed } from '../data/dataset.js'
import { invalidOption, together, type ArbalestError } from '../errors.js'
import type { Model } from '../model/model.js'
import type { ParameterLayout } from '../compiler/program.js'
import type { Settings } from '../options/settings.js'

/**
 * The settings in which a run must agree with the checkpoint from which it goes on: by option, as JSON. `until`, `learners`, `threads` and `backend` may
 * differ.
 */
export type RunIdentity = Readonly<Record<string, string>>

export function identityOf(model: Model, dataset: Dataset, { parameters }: ParameterLayout, settings: Settings): RunIdentity {
  const { name, train: samples, sample, classes } = dataset
  const { batch, synchroniser, average, freeze, precision, seed, optimiser } = settings
  return {
    model: JSON.stringify(model),
    parameters: JSON.stringify(parameters.map(({ name: parameter, shape }) => [parameter, shape])),
    data: JSON.stringify({ name, count: samples.count, sample, classes, ...(isStreamed(samples) && { read: samples.reader.options }) }),
    batch: JSON.stringify(batch),
    optimiser: JSON.stringify(optimiser),
    synchroniser: JSON.stringify(synchroniser),
    average: JSON.stringify(average ?? null),
    freeze: JSON.stringify(freeze),
    precision: JSON.stringify(precision),
    seed: JSON.stringify(seed)
  }
}

/** Throws INVALID_OPTION with every option that differs. */
export function checkIdentity(folder: string, recorded: RunIdentity, now: RunIdentity): void {
  const refusals = Object.entries(now)
    .filter(([option, value]) => recorded[option] !== value)
    .map(([option, value]) =>
      invalidOption(option, brief(value), `the checkpoint ${folder} has ${brief(recorded[option])}: use that, or another checkpoint.dir`)
    )
  if (refusals.length > 0) throw together(refusals as [ArbalestError, ...ArbalestError[]])
}

function brief(value = 'none'): string {
  return value.length > 80 ? `${value.slice(0, 77)}...` : value
}
