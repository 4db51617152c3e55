import { expect } from 'chai'
import { runOnce } from './bound-operator.js'
import { present, type OperatorCase, type Values } from './operator-case.js'

/**
 * How much was summed into each element of each output: what its error is measured against. A missing output, or null, must be exact.
 */
export type Magnitude = (use: OperatorCase, inputs: Values, outputs: Values) => Values

/** Nothing is rounded: elements are chosen, moved or zeroed. */
export const exact: Magnitude = () => ({})

/** What came before, and what it came from. */
export const folding: Magnitude = (_use, inputs, outputs) => ({
  foldedMean: inputs['foldedMean']!.map((value, i) => Math.abs(value) + Math.abs(inputs['mean']![i]!)),
  foldedVariance: outputs['foldedVariance']!
})

/** The sum of |a * b|: the operator itself over the sizes of its inputs, for operators that only multiply and add. */
export const absolute: Magnitude = (use, inputs) => {
  const plain = { ...use, attributes: { ...use.attributes, ...('relu' in use.attributes ? { relu: 0 } : {}) } }
  return runOnce('reference', 'f64', plain, sized(inputs)).outputs
}

/** As `absolute`, where the other input says which gradients pass. */
export const absoluteGradient: Magnitude = (use, inputs) =>
  runOnce('reference', 'f64', use, { ...inputs, gy: inputs['gy']!.map(Math.abs) }).outputs

/** Channels of (N, C, H, W) in which batch norm works, with what it computes of each element. */
interface Channels {
  readonly of: (i: number) => number
  readonly count: number
  readonly normalised: (i: number) => number
  readonly inverse: (c: number) => number
}

function channels(use: OperatorCase, x: Float64Array, mean: Float64Array, variance: Float64Array): Channels {
  const shape = use.inputs['x']!.shape
  const pixels = shape[2]! * shape[3]!
  const of = (i: number): number => Math.floor(i / pixels) % shape[1]!
  const inverse = (c: number): number => 1 / Math.sqrt(variance[c]! + (use.attributes['epsilon'] as number))
  return { of, inverse, count: x.length / shape[1]!, normalised: (i) => (x[i]! - mean[of(i)]!) * inverse(of(i)) }
}

/** The mean of |x|; the variance itself, since its sum has no cancellation; y to within one std of its channel. */
export const batchNorm: Magnitude = (use, inputs, outputs) => {
  const { x, gamma, beta, residual } = inputs as Record<string, Float64Array>
  const mean = (outputs['mean'] ?? inputs['mean'])!
  const variance = (outputs['variance'] ?? inputs['variance'])!
  const { of, count, normalised } = channels(use, x!, mean, variance)
  const means = new Float64Array(mean.length)
  x!.forEach((value, i) => (means[of(i)]! += Math.abs(value) / count))
  const y = x!.map((_, i) => {
    const c = of(i)
    return Math.abs(gamma![c]!) * (Math.abs(normalised(i)) + 1) + Math.abs(beta![c]!) + Math.abs(residual?.[i] ?? 0)
  })
  return { y, mean: means, variance: variance.map((value) => value + (use.attributes['epsilon'] as number)) }
}

export const batchNormBackward: Magnitude = (use, inputs) => {
  const { x, gamma, mean, variance, y, gy, gy2 } = inputs as Record<string, Float64Array>
  const { of, inverse, count, normalised } = channels(use, x!, mean!, variance!)
  const most = (use.attributes['most'] as number | undefined) ?? Infinity
  const passes = (i: number): boolean => !use.attributes['relu'] || (y![i]! > 0 && y![i]! < most)
  const gresidual = gy!.map((value, i) => (passes(i) ? Math.abs(value) + Math.abs(gy2?.[i] ?? 0) : 0))
  const ggamma = new Float64Array(mean!.length)
  const gbeta = new Float64Array(mean!.length)
  gresidual.forEach((value, i) => {
    ggamma[of(i)]! += value * Math.abs(normalised(i))
    gbeta[of(i)]! += value
  })
  const gx = gresidual.map((value, i) => {
    const c = of(i)
    return Math.abs(gamma![c]!) * inverse(c) * (value + gbeta[c]! / count + (Math.abs(normalised(i)) * ggamma[c]!) / count)
  })
  return { gx, ggamma, gbeta, gresidual }
}

/** Where an element of (N, C, H, W) lies. */
interface Place {
  readonly channel: number
  /** Among those of all images. */
  readonly group: number
}

function placesInGroups(use: OperatorCase): (i: number) => Place {
  const [, count, height, width] = use.inputs['x']!.shape as [number, number, number, number]
  const size = count / (use.attributes['groups'] as number)
  return (i) => {
    const plane = Math.floor(i / (height * width))
    return { channel: plane % count, group: Math.floor(plane / size) }
  }
}

/** As layer norm: of a group the mean of |x|, and an inverse as exact as the sum of squares of what is left when the mean is taken off. */
export const groupNorm: Magnitude = (use, inputs, outputs) => {
  const { x, gamma, beta, residual } = inputs as Record<string, Float64Array>
  const { mean, inverse } = outputs as Record<string, Float64Array>
  const place = placesInGroups(use)
  const sizes = new Float64Array(mean!.length)
  x!.forEach((value, i) => (sizes[place(i).group]! += (Math.abs(value) * mean!.length) / x!.length))
  const y = x!.map((value, i) => {
    const { channel, group } = place(i)
    const normalised = (Math.abs(value) + sizes[group]!) * inverse![group]!
    return Math.abs(gamma![channel]!) * normalised + Math.abs(beta![channel]!) + Math.abs(residual?.[i] ?? 0)
  })
  return { y, mean: sizes, inverse: inverse!.map((value, group) => value * (1 + sizes[group]! * value)) }
}

export const groupNormBackward: Magnitude = (use, inputs) => {
  const { x, gamma, mean, inverse, y, gy, gy2 } = inputs as Record<string, Float64Array>
  const place = placesInGroups(use)
  const most = (use.attributes['most'] as number | undefined) ?? Infinity
  const passes = (i: number): boolean => !use.attributes['relu'] || (y![i]! > 0 && y![i]! < most)
  const gresidual = gy!.map((value, i) => (passes(i) ? Math.abs(value) + Math.abs(gy2?.[i] ?? 0) : 0))
  const normalised = (i: number): number => Math.abs(x![i]! - mean![place(i).group]!) * inverse![place(i).group]!
  const [ggamma, gbeta] = [new Float64Array(gamma!.length), new Float64Array(gamma!.length)]
  const [sums, products] = [new Float64Array(mean!.length), new Float64Array(mean!.length)]
  const share = mean!.length / x!.length
  gresidual.forEach((value, i) => {
    const { channel, group } = place(i)
    ggamma[channel]! += value * normalised(i)
    gbeta[channel]! += value
    sums[group]! += value * Math.abs(gamma![channel]!) * share
    products[group]! += value * Math.abs(gamma![channel]!) * normalised(i) * share
  })
  const gx = gresidual.map((value, i) => {
    const { channel, group } = place(i)
    return inverse![group]! * (Math.abs(gamma![channel]!) * value + sums[group]! + normalised(i) * products[group]!)
  })
  return { gx, ggamma, gbeta, gresidual }
}

/** Its own size, for nothing cancels; what a float has no room for is as good as 0. */
export const relative: Magnitude = (_use, _inputs, outputs) =>
  Object.fromEntries(Object.entries(outputs).map(([name, values]) => [name, values.map((value) => Math.abs(value) + 1e-30)]))

/** y(1-y) and 1-y^2 are differences: of y and of 1 to y^2. */
export const slopeOfOutput: Magnitude = (_use, { y, gy }) => ({ gx: gy!.map((g, i) => Math.abs(g) * (y![i]! ** 2 + 1)) })

/** The two summands of a derivative of x * f(x), each no more than 1.2 in size. */
export const slopeOfInput: Magnitude = (_use, { gy }) => ({ gx: gy!.map((g) => 2 * Math.abs(g)) })

/** Own share and that of the others, each smaller than if all were of one sign; s, a sum of squares, has no cancellation. */
export const localResponseNormBackward: Magnitude = (use, { x, gy }) => {
  const { beta, k } = use.attributes as { beta: number; k: number }
  // s is at least k, and alpha / size * x_i x_j / s_j at most 1 / 2 where i and j share a window.
  const sizes = gy!.map(Math.abs)
  const largest = Math.max(...sizes)
  return { gx: x!.map((_, i) => (sizes[i]! + beta * largest) * k ** -beta) }
}

/** A loss of order 1 is the logarithm of a sum of order 1; probabilities below a millionth are as good as 0, and a difference of 1 and almost 1 below a twentieth. */
export const softmaxCrossEntropy: Magnitude = (_use, _inputs, outputs) => ({
  loss: outputs['loss']!.map((value) => Math.abs(value) + 1),
  ...(outputs['differences'] && { differences: outputs['differences'].map((value) => Math.abs(value) + (value > 0 ? 1e-6 : 5e-2)) })
})

/** What differs, and what is smoothed, at most with the largest weight, over the weights of those that have a class; as above, a millionth is as good as 0. */
export const softmaxCrossEntropyBackward: Magnitude = (use, inputs, outputs) => {
  const differences = inputs['differences']!
  const target = inputs['target']!
  const classes = differences.length / target.length
  const smoothing = (use.attributes['smoothing'] as number | undefined) ?? 0
  const weights = (use.attributes['weights'] as readonly number[] | undefined) ?? Array.from({ length: classes }, () => 1)
  const most = Math.max(...weights)
  const smoothed = (i: number): number => smoothing / classes + (i % classes === target[Math.floor(i / classes)] ? smoothing : 0)
  const counted = target.filter((label) => label >= 0).reduce((sum, label) => sum + weights[label]!, 0) || 1
  return { glogits: outputs['glogits']!.map((_, i) => (most * (Math.abs(differences[i]!) + smoothed(i) + 1e-6)) / counted) }
}

/** The loss sums shares times distances of the logits; the gradient is a probability times the sum of a row's shares less a share, each at most with the largest weight, over the rows. */
export const softTargetCrossEntropy: Magnitude = (use, inputs, outputs) => {
  const { logits, target } = inputs
  const { shape } = use.inputs['logits']!
  const [rows, classes] = [shape[0]!, shape.at(-1)!]
  const most = Math.max(...((use.attributes['weights'] as readonly number[] | undefined) ?? [1]))
  const farthest = logits!.reduce((largest, logit) => Math.max(largest, Math.abs(logit)), 0)
  const sums = Array.from({ length: rows }, (_, n) =>
    target!.subarray(n * classes, (n + 1) * classes).reduce((sum, share) => sum + share, 1)
  )
  return {
    loss: Float64Array.of((most * sums.reduce((a, b) => a + b) * (2 * farthest + Math.log(classes))) / rows),
    ...(outputs['gradient'] && { gradient: outputs['gradient'].map((_, i) => (most * sums[Math.floor(i / classes)]!) / rows) })
  }
}

/** max(x, 0), t x and a logarithm between 0 and log 2 are summed; the gradient is a sigmoid less the target. */
export const binaryCrossEntropy: Magnitude = (use, inputs) => {
  const x = inputs['logits']!
  const t = inputs['target']!
  const most = Math.max(1, ...((use.attributes['weights'] as readonly number[] | undefined) ?? []))
  const loss = x.reduce((sum, value, i) => sum + (most * (Math.abs(value) * (1 + t[i]!) + Math.LN2)) / x.length, 0)
  return { loss: Float64Array.of(loss), glogits: t.map((target) => (most * (1 + target)) / x.length) }
}

export const squaredError: Magnitude = (_use, inputs) => {
  const sum = inputs['prediction']!.map((value, i) => Math.abs(value) + Math.abs(inputs['target']![i]!))
  const count = sum.length
  return { loss: Float64Array.of(sum.reduce((total, s) => total + (s * s) / count, 0)), gprediction: sum.map((s) => (2 * s) / count) }
}

/** What differs from `expected` by more than `tolerance` of what was summed, the worst of each output in words. */
export function deviations(use: OperatorCase, found: Values, expected: Values, magnitudes: Values, tolerance: number): string[] {
  return present(use.outputs).flatMap(([name]) => {
    const [got, want, magnitude] = [found[name]!, expected[name]!, magnitudes[name]]
    const error = (i: number): number => {
      if (got[i] === want[i]) return 0
      const share = Math.abs(got[i]! - want[i]!) / (magnitude?.[i] ?? 0)
      return Number.isNaN(share) ? Infinity : share
    }
    let worst = 0
    let largest = error(0)
    for (let i = 1; i < want.length; i++) {
      const share = error(i)
      if (share > largest) [worst, largest] = [i, share]
    }
    if (largest <= tolerance) return []
    return [`${use.name}: ${name}[${worst}] is ${got[worst]}, not ${want[worst]}: off by ${largest.toExponential(1)} of what was summed`]
  })
}

/** Passes where there are no faults; else the error shows the first few. */
export function expectNone(faults: readonly string[]): void {
  expect(faults.length, `${faults.slice(0, 12).join('\n')}\n`).to.equal(0)
}

function sized(values: Values): Values {
  return Object.fromEntries(Object.entries(values).map(([name, numbers]) => [name, numbers.map(Math.abs)]))
}
