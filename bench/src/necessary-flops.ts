import { SEGMENTS, type Program } from './internals.js'

type Operator = Program['segments']['forward'][number]

/** The shapes of x, w and y, or of their gradients, by the kind of a convolution. */
const CONVOLUTIONS: Readonly<Record<string, (operator: Operator) => readonly (number | undefined)[]>> = {
  conv2d: ({ inputs: [x, w], outputs: [y] }) => [x, w, y],
  conv2dBackwardData: ({ inputs: [gy, w], outputs: [gx] }) => [gx, w, gy],
  conv2dBackwardWeights: ({ inputs: [x, gy], outputs: [gw] }) => [x, gw, gy]
}

/** Of all pairs of an output and a tap of its window along an axis, those that are not on padding. */
export function innerTaps(extent: number, kernel: number, outputs: number, stride: number, padding: number): number {
  let inner = 0
  for (let output = 0; output < outputs; output++)
    for (let tap = 0; tap < kernel; tap++) {
      const at = output * stride - padding + tap
      if (at >= 0 && at < extent) inner++
    }
  return inner
}

/** Winograd's transforms in the name of an implementation, and the outputs of their tiles a side. */
const WINOGRAD = { implementation: /:winograd(-of-images)?$/, tile: 4 }

/**
 * Floating-point operations of an operator as sums of products, without those on padding, which a convolution need not compute: at the
 * 2 x 2 images of VGG-16's last stage they are more than half of what is usually counted.
 */
export function directFlops(program: Program, operator: Operator): number {
  const shapes = shapesOf(program, operator)
  if (shapes === undefined) return operator.flops
  const { x, w, y } = shapes
  const { stride, padding } = operator.attributes as { readonly stride: readonly number[]; readonly padding: readonly number[] }
  return [0, 1].reduce(
    (flops, axis) =>
      (flops * innerTaps(x[2 + axis]!, w[2 + axis]!, y[2 + axis]!, stride[axis]!, padding[axis]!)) / (w[2 + axis]! * y[2 + axis]!),
    operator.flops
  )
}

/** The same for an operator as it is implemented: by Winograd's transforms, those of the products between them. */
export function necessaryFlops(program: Program, operator: Operator): number {
  const shapes = shapesOf(program, operator)
  if (shapes === undefined || !WINOGRAD.implementation.test(operator.implementation)) return directFlops(program, operator)
  // Tiles are of what is computed, or of y where that is the gradient of the weights.
  const { x, w, y } = shapes
  const [images, , height, width] = (operator.kind === 'conv2dBackwardData' ? x : y) as [number, number, number, number]
  const tiles = images * Math.ceil(height / WINOGRAD.tile) * Math.ceil(width / WINOGRAD.tile)
  const products = (WINOGRAD.tile + w[2]! - 1) * (WINOGRAD.tile + w[3]! - 1)
  return 2 * products * tiles * x[1]! * y[1]!
}

/** The same for all operators of a step, by `segment name kind`. */
export function necessaryFlopsByOperator(program: Program): ReadonlyMap<string, number> {
  return new Map(
    SEGMENTS.flatMap((segment) =>
      program.segments[segment].map((one) => [`${segment} ${one.name} ${one.kind}`, necessaryFlops(program, one)] as const)
    )
  )
}

function shapesOf(program: Program, operator: Operator): Record<'x' | 'w' | 'y', readonly number[]> | undefined {
  const shapes = CONVOLUTIONS[operator.kind]?.(operator).map((id) => program.values[id!]!.shape)
  return shapes && { x: shapes[0]!, w: shapes[1]!, y: shapes[2]! }
}
