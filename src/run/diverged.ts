import { checkpointsIn, newestWhole } from '../checkpoints/store.js'
import { checkSound } from '../checkpoints/resume.js'
import { ArbalestError, messageOf } from '../errors.js'
import type { Settings } from '../options/settings.js'

/** How much lower a rate is to be tried: a tenth, and at most what optimisers usually begin with. */
const LOWER = 0.1
const USUAL = 0.1

/**
 * LOSS_NOT_FINITE: `what` was no finite number at an iteration, with rates up to `learningRate`, times the scale of a run that went back before. `isSet`: a program
 * has set them, and not the options.
 */
export function notFinite(
  what: string,
  at: { readonly iteration: number; readonly learningRate: number; readonly learningRateScale: number },
  { isSet }: { readonly isSet: boolean }
): ArbalestError {
  const { iteration, learningRate, learningRateScale } = at
  const effective = learningRate * learningRateScale
  const by = isSet ? ', as a program has set it' : ''
  const times = learningRateScale === 1 ? '' : `, times ${learningRateScale} since the run went back`
  const lower = Math.min(effective * LOWER, USUAL).toPrecision(1)
  const message = `${isSet ? '' : 'optimiser.'}learningRate: received ${learningRate}${by}${times}; ${what} at iteration ${iteration}, the training has diverged: use a lower learning rate, such as ${Number(lower)}, or a warm-up or clipNorm`
  return new ArbalestError('LOSS_NOT_FINITE', message, { data: { ...at } })
}

/** The error of a run that has diverged, with what the run can go on from. */
export async function withWayOn(
  error: ArbalestError,
  { checkpoint, onNaN }: Pick<Settings, 'checkpoint' | 'onNaN'>
): Promise<ArbalestError> {
  const way =
    checkpoint === undefined
      ? 'the run keeps no checkpoint to go back to: name a folder, checkpoint (--checkpoint-dir)'
      : await wayFrom(checkpoint.dir, onNaN?.learningRateFactor).catch(messageOf)
  return new ArbalestError(error.code, `${error.message}; ${way}`, { cause: error, data: error.data })
}

async function wayFrom(dir: string, used: number | undefined): Promise<string> {
  const newest = await newestWhole(dir, () => {}, checkSound)
  if (newest) {
    const factor = used === undefined ? LOWER : Number((used * LOWER).toPrecision(1))
    return `the same run with onNaN.learningRateFactor ${factor} (--nan-lr-factor ${factor}) goes on from the newest checkpoint, ${newest.folder}, and multiplies its rates by that when the loss is not finite again`
  }
  return (await checkpointsIn(dir)).length === 0
    ? `there is no checkpoint yet in ${dir}: begin again`
    : `no checkpoint in ${dir} is sound: begin again in another folder`
}
