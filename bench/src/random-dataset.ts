import { createCipheriv } from 'node:crypto'
import type { StoredDataset } from './arbalest.js'
import type { Workload } from './cases.js'

/** The same in every process: the hosts of a run compare their data. */
function randomBytes(count: number): Uint8Array<ArrayBuffer> {
  const zeros = Buffer.alloc(16)
  return new Uint8Array(createCipheriv('aes-128-ctr', zeros, zeros).update(new Uint8Array(count)))
}

/** Random pixels and classes: the speed does not depend on them. Without crop and flip, as in the peer. */
export function randomDataset(workload: Workload): StoredDataset {
  const { sample, classes } = workload
  if (sample.length === 1) return workload.tokens === undefined ? randomText(workload) : randomTexts(workload, workload.tokens)
  const pixels = sample.reduce((product, extent) => product * extent, 1)
  const part = (count: number): StoredDataset['train'] => ({
    count,
    sample,
    samples: randomBytes(count * pixels),
    labels: Int32Array.from(new Uint16Array(randomBytes(2 * count).buffer), (number) => number % classes),
    classes
  })
  return {
    name: 'random',
    sample,
    classes,
    train: part(workload.count),
    test: part(64),
    mean: [0.5],
    std: [0.29],
    augmentation: { padding: 0, flip: false }
  }
}

/** A text of random tokens, of which a sample is a window. */
function randomText({ sample, count, classes }: Workload): StoredDataset {
  const [context = 1] = sample
  const part = (windows: number): StoredDataset['train'] => ({
    count: windows,
    sample,
    samples: Int32Array.from(randomBytes(windows * context + 1), (byte) => byte % classes),
    stride: context,
    classes
  })
  return {
    name: 'random',
    sample,
    classes,
    train: part(count),
    test: part(64),
    mean: [],
    std: [],
    augmentation: { padding: 0, flip: false }
  }
}

/** Texts of random tokens without an end, token 0, each with a class. */
function randomTexts({ sample, count, classes }: Workload, tokens: number): StoredDataset {
  const [length = 1] = sample
  const part = (texts: number): StoredDataset['train'] => ({
    count: texts,
    sample,
    samples: Int32Array.from(randomBytes(texts * length), (byte) => 1 + (byte % (tokens - 1))),
    labels: Int32Array.from(randomBytes(texts), (byte) => byte % classes),
    classes
  })
  return {
    name: 'random',
    sample,
    classes,
    train: part(count),
    test: part(64),
    mean: [],
    std: [],
    augmentation: { padding: 0, flip: false }
  }
}
