import { elements } from '../model/graph.js'
import type { StreamedSamples } from './dataset.js'
import { writtenTargets, type WrittenTargets } from './written-targets.js'

/** Bytes of a class number or of a number of a target. */
const NUMBER = 4

/** A part of a batch in memory that threads share. */
export interface BatchPart {
  /** Bytes before the first sample, and bytes of one sample. */
  readonly offset: number
  readonly size: number
  /** Absent where the reader writes none; as bytes, too. */
  readonly targets?: WrittenTargets & { readonly offset: number; readonly size: number }
}

/** Memory that a batch takes: what the reader writes as targets, whose numbers are aligned so, and then the samples. */
export function bytesOfBatch(samples: StreamedSamples, count: number): number {
  return bytesOfTargets(samples, count) + count * elements(samples.sample)
}

/** The samples from `start` on of a batch of `count`. */
export function partOfBatch(samples: StreamedSamples, count: number, start: number): BatchPart {
  const size = elements(samples.sample)
  const written = writtenTargets(samples)
  return {
    offset: bytesOfTargets(samples, count) + start * size,
    size,
    ...(written && { targets: { ...written, offset: bytesOfTargets(samples, start), size: bytesOfTargets(samples, 1) } })
  }
}

/** The samples (count, ...sample) of a batch, and its class numbers (count, ...label) or its targets (count, ...target); `numbers` are those of its samples in the data set. */
export function batchIn(
  memory: SharedArrayBuffer,
  samples: StreamedSamples,
  numbers: readonly number[]
): { readonly samples: Uint8Array; readonly targets: Int32Array | Float32Array } {
  const count = numbers.length
  const { offset, size } = partOfBatch(samples, count, 0)
  return { samples: new Uint8Array(memory, offset, count * size), targets: targetsIn(memory, samples, numbers) }
}

/** Those samples of a data set whose numbers are chosen. */
export function chosenOf(samples: StreamedSamples, chosen: readonly number[]): StreamedSamples {
  const { items, labels, targets } = samples
  return {
    ...samples,
    count: chosen.length,
    items: chosen.map((number) => items[number]!),
    ...(labels && { labels: Int32Array.from(chosen, (number) => labels[number]!) }),
    ...(targets && { targets: rows(targets, chosen, elements(samples.target!)) })
  }
}

function targetsIn(memory: SharedArrayBuffer, samples: StreamedSamples, numbers: readonly number[]): Int32Array | Float32Array {
  const { labels, target, targets } = samples
  if (targets) return rows(targets, numbers, elements(target!))
  if (labels) return Int32Array.from(numbers, (number) => labels[number]!)
  const { elements: each, classes } = writtenTargets(samples)!
  const length = numbers.length * each
  return classes === undefined ? new Float32Array(memory, 0, length) : new Int32Array(memory, 0, length)
}

function rows(from: Float32Array, chosen: readonly number[], width: number): Float32Array {
  const to = new Float32Array(chosen.length * width)
  for (const [row, number] of chosen.entries()) to.set(from.subarray(number * width, (number + 1) * width), row * width)
  return to
}

function bytesOfTargets(samples: StreamedSamples, count: number): number {
  return count * NUMBER * (writtenTargets(samples)?.elements ?? 0)
}
