import { BoundOperator } from './bound-operator.js'
import type { OperatorCase, Port } from './operator-case.js'

/** An operator of the CPU backend, with its activations in this layout, while `work` runs. */
export function withBound<T>(
  use: OperatorCase,
  layout: string,
  threads: number,
  work: (bound: BoundOperator) => T,
  precision: 'f32' | 'bf16' = 'f32'
): T {
  const bound = new BoundOperator('cpu', precision, use, { layout, threads })
  try {
    return work(bound)
  } finally {
    bound.release()
  }
}

/** The names of the uses that kernels of our own run. */
export const runByOurs = (uses: readonly OperatorCase[], layout: string, precision: 'f32' | 'bf16' = 'f32'): string[] =>
  uses
    .filter((use) => withBound(use, layout, 1, ({ answer }) => answer.implementation.startsWith('own:'), precision))
    .map(({ name }) => name)

interface Tensors {
  readonly x: Port
  readonly w: Port
  readonly b: Port | null
  readonly y: Port
}

/** A convolution and its gradients. */
export const convolutionPasses = ({ x, w, b, y }: Tensors, attributes: OperatorCase['attributes']): OperatorCase[] => [
  { kind: 'conv2d', name: 'forward', attributes, inputs: { x, w, b }, outputs: { y } },
  { kind: 'conv2dBackwardData', name: 'data', attributes, inputs: { gy: y, w }, outputs: { gx: x } },
  { kind: 'conv2dBackwardWeights', name: 'weights', attributes, inputs: { x, gy: y }, outputs: { gw: w, gb: b } }
]
