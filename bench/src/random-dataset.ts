import { createCipheriv } from 'node:crypto'
import type { StoredDataset } from './arbalest.js'
import type { Workload } from './cases.js'

/** The same in every process: the hosts of a run compare their data. */
function randomBytes(count: number): Uint8Array<ArrayBuffer> {
  const zeros = Buffer.alloc(16)
  return new Uint8Array(createCipheriv('aes-128-ctr', zeros, zeros).update(new Uint8Array(count)))
}

/** Random pixels and classes, or texts: the speed does not depend on them. Without crop and flip, as in the peer. */
export function randomDataset(workload: Workload): StoredDataset {
  const { sample, count, classes } = workload
  const part =
    sample.length > 1 ? images(workload) : workload.tokens === undefined ? windows(workload) : labelledTexts(workload, workload.tokens)
  return {
    name: 'random',
    sample,
    classes,
    train: part(count),
    test: part(64),
    ...(sample.length > 1 ? { mean: [0.5], std: [0.29] } : { mean: [], std: [] }),
    augmentation: { padding: 0, flip: false }
  }
}

/** That many samples. */
type Part = (count: number) => StoredDataset['train']

function images({ sample, classes }: Workload): Part {
  const pixels = sample.reduce((product, extent) => product * extent, 1)
  return (count) => ({
    count,
    sample,
    samples: randomBytes(count * pixels),
    labels: Int32Array.from(new Uint16Array(randomBytes(2 * count).buffer), (number) => number % classes),
    classes
  })
}

/** Windows of a text of random tokens. */
function windows({ sample, classes }: Workload): Part {
  const [context = 1] = sample
  return (count) => ({
    count,
    sample,
    samples: Int32Array.from(randomBytes(count * context + 1), (byte) => byte % classes),
    stride: context,
    classes
  })
}

/** Texts of random tokens without an end, token 0, each with a class. */
function labelledTexts({ sample, classes }: Workload, tokens: number): Part {
  const [length = 1] = sample
  return (count) => ({
    count,
    sample,
    samples: Int32Array.from(randomBytes(count * length), (byte) => 1 + (byte % (tokens - 1))),
    labels: Int32Array.from(randomBytes(count), (byte) => byte % classes),
    classes
  })
}
