import { ArbalestError } from '../../errors.js'
import { shownShape } from '../layer-checks.js'

/** The sides that an image may have for a model's last features to keep the size that its classifier was made for. */
export interface FittingSides {
  readonly least: number
  readonly most: number
}

/** Height and width of an image that fits. Throws SHAPE_MISMATCH with the inputs that do. */
export function fittingSides(model: string, input: readonly number[], { least, most }: FittingSides): readonly [number, number] {
  const [, height = 0, width = 0] = input
  if (input.length === 3 && [height, width].every((side) => side >= least && side <= most)) return [height, width]
  throw new ArbalestError(
    'SHAPE_MISMATCH',
    `model ${model}: received input ${shownShape(input)}; it takes images (C, H, W) of ${least} to ${most} pixels a side: scale the images, or use another model`,
    { data: { model, received: input, least, most } }
  )
}
