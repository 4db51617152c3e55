import type { DatasetSpec } from '../engine/contract.js'
import { invalidOption } from '../errors.js'
import { Random } from './random.js'

/**
 * Holds out `fraction` of the samples, at least one and not all, chosen at random by `seed`; both parts keep the order of the whole.
 * Throws INVALID_OPTION.
 */
export function split(whole: DatasetSpec, fraction: number, seed: number): { train: DatasetSpec; test: DatasetSpec } {
  if (!(fraction > 0 && fraction < 1)) throw invalidOption('testFraction', fraction, 'use a number between 0 and 1, or give test')
  if (!Number.isSafeInteger(seed) || seed < 0) throw invalidOption('seed', seed, 'use a whole number from 0 to 2^53 - 1')
  const { count } = whole
  if (count < 2) throw invalidOption('samples', count, 'give at least 2 samples, or give test')
  const held = Math.min(count - 1, Math.max(1, Math.round(count * fraction)))
  const order = new Random(seed).shuffle(Int32Array.from({ length: count }, (_, i) => i))
  return { train: part(whole, order.slice(held).sort()), test: part(whole, order.slice(0, held).sort()) }
}

function part(whole: DatasetSpec, chosen: Int32Array): DatasetSpec {
  return {
    ...whole,
    count: chosen.length,
    samples: rows<Uint8Array | Float32Array>(
      whole.samples,
      chosen,
      whole.count,
      whole.samples instanceof Uint8Array ? Uint8Array : Float32Array
    ),
    ...(whole.labels && { labels: rows(whole.labels, chosen, whole.count, Int32Array) }),
    ...(whole.targets && { targets: rows(whole.targets, chosen, whole.count, Float32Array) })
  }
}

type Numbers = Uint8Array | Float32Array | Int32Array

function rows<T extends Numbers>(values: Numbers, chosen: Int32Array, count: number, make: new (length: number) => T): T {
  const width = values.length / count
  const taken = new make(chosen.length * width)
  chosen.forEach((row, i) => taken.set(values.subarray(row * width, (row + 1) * width), i * width))
  return taken
}
