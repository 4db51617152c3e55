import { runOnce } from './bound-operator.js'
import type { Magnitude } from './magnitudes.js'

/** What a row's deviations come from: the sizes of x and of its mean, over the row's std. */
function normalised(x: Float64Array, mean: Float64Array, inverse: Float64Array): Float64Array {
  const width = x.length / mean.length
  return x.map((value, i) => {
    const row = Math.floor(i / width)
    return (Math.abs(value) + Math.abs(mean[row]!)) * inverse[row]!
  })
}

export const layerNorm: Magnitude = (_use, { x, gamma, beta }, { mean, inverse }) => {
  const width = gamma!.length
  const sizes = new Float64Array(mean!.length)
  x!.forEach((value, i) => (sizes[Math.floor(i / width)]! += Math.abs(value) / width))
  const y = normalised(x!, sizes, inverse!).map((value, i) => Math.abs(gamma![i % width]!) * value + Math.abs(beta![i % width]!))
  // The std is as exact as the sum of squares of what is left when the mean is taken off.
  return { y, mean: sizes, inverse: inverse!.map((value, row) => value * (1 + sizes[row]! * value)) }
}

export const layerNormBackward: Magnitude = (_use, { x, gamma, mean, inverse, gy }) => {
  const width = gamma!.length
  const sizes = normalised(x!, mean!, inverse!)
  const ggamma = new Float64Array(width)
  const gbeta = new Float64Array(width)
  const sums = new Float64Array(mean!.length)
  const products = new Float64Array(mean!.length)
  gy!.forEach((value, i) => {
    const [row, feature] = [Math.floor(i / width), i % width]
    ggamma[feature]! += Math.abs(value) * sizes[i]!
    gbeta[feature]! += Math.abs(value)
    sums[row]! += Math.abs(value * gamma![feature]!) / width
    products[row]! += (Math.abs(value * gamma![feature]!) * sizes[i]!) / width
  })
  const gx = gy!.map((value, i) => {
    const row = Math.floor(i / width)
    return inverse![row]! * (Math.abs(value * gamma![i % width]!) + sums[row]! + sizes[i]! * products[row]!)
  })
  return { gx, ggamma, gbeta }
}

/** The largest number of each output: a rounding goes through all positions behind it. */
export const largest: Magnitude = (_use, _inputs, outputs) =>
  Object.fromEntries(
    Object.entries(outputs).map(([name, numbers]) => {
      const most = numbers.reduce((found, number) => Math.max(found, Math.abs(number)), 0)
      return [name, numbers.map(() => most)]
    })
  )

/** As `absolute`, where the tokens say what is summed. */
export const absoluteOfTokens: Magnitude = (use, { tokens, ...others }) =>
  runOnce('reference', 'f64', use, {
    tokens: tokens!,
    ...Object.fromEntries(Object.entries(others).map(([name, values]) => [name, values.map(Math.abs)]))
  }).outputs

interface Pair {
  /** Where query, key and value of a head begin in qkv, and its result in y. */
  readonly query: number
  readonly key: number
  readonly value: number
  readonly result: number
  readonly probability: number
  readonly width: number
}

/** Every pair of positions of which the first sees the second. */
function forEachPair(
  qkv: Float64Array,
  y: readonly number[],
  { heads, causal, lengths }: { readonly heads: number; readonly causal: boolean; readonly lengths?: Float64Array | undefined },
  visit: (pair: Pair) => void
): void {
  const [batch, length, features] = y as [number, number, number]
  const width = features / heads
  for (let n = 0; n < batch; n++)
    for (let head = 0; head < heads; head++)
      for (let t = 0; t < length; t++) {
        const at = (s: number, part: number): number => (n * length + s) * 3 * features + part * features + head * width
        const before = Math.min(lengths?.[n] ?? length, length)
        const seen = causal ? t + 1 : t < before ? before : 0
        const scores = Array.from({ length: seen }, (_, s) => {
          let score = 0
          for (let f = 0; f < width; f++) score += qkv[at(t, 0) + f]! * qkv[at(s, 1) + f]!
          return score / Math.sqrt(width)
        })
        const highest = Math.max(...scores)
        const sum = scores.reduce((total, score) => total + Math.exp(score - highest), 0)
        for (const [s, score] of scores.entries())
          visit({
            query: at(t, 0),
            key: at(s, 1),
            value: at(s, 2),
            result: (n * length + t) * features + head * width,
            probability: Math.exp(score - highest) / sum,
            width
          })
      }
}

/** A mean of the values' sizes; probabilities are exponentials of scores of order 1. */
const attentionOf =
  (causal: boolean): Magnitude =>
  (use, { qkv, lengths }, { logSum }) => {
    const y = new Float64Array(qkv!.length / 3)
    forEachPair(
      qkv!,
      use.outputs['y']!.shape,
      { heads: use.attributes['heads'] as number, causal, lengths },
      ({ value, result, probability, width }) => {
        for (let f = 0; f < width; f++) y[result + f]! += probability * Math.abs(qkv![value + f]!)
      }
    )
    return { y, ...(logSum && { logSum: logSum.map((value) => Math.abs(value) + 1) }) }
  }

export const attention = attentionOf(true)
export const fullAttention = attentionOf(false)

const attentionBackwardOf =
  (causal: boolean): Magnitude =>
  (use, { qkv, y, gy, lengths }) => {
    const gqkv = new Float64Array(qkv!.length)
    forEachPair(
      qkv!,
      use.inputs['y']!.shape,
      { heads: use.attributes['heads'] as number, causal, lengths },
      ({ query, key, value, result, probability, width }) => {
        let summed = 0
        for (let f = 0; f < width; f++) summed += Math.abs(gy![result + f]!) * (Math.abs(qkv![value + f]!) + Math.abs(y![result + f]!))
        const gradient = (probability * summed) / Math.sqrt(width)
        for (let f = 0; f < width; f++) {
          gqkv[query + f]! += gradient * Math.abs(qkv![key + f]!)
          gqkv[key + f]! += gradient * Math.abs(qkv![query + f]!)
          gqkv[value + f]! += probability * Math.abs(gy![result + f]!)
        }
      }
    )
    return { gqkv }
  }

export const attentionBackward = attentionBackwardOf(true)
export const fullAttentionBackward = attentionBackwardOf(false)
