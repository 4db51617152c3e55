import type { PlacedValue, Program } from './program.js'
import { inOrder } from './step.js'

/** The batch-norm statistics without which a program's results mean nothing: those that it reads. A program that predicts does not read the number of batches that they describe. */
export function statisticsRead({ values, segments }: Program): readonly PlacedValue[] {
  const read = new Set(inOrder(segments).flatMap(({ inputs }) => inputs))
  return values.filter(({ role, id }) => role === 'statistic' && read.has(id))
}
