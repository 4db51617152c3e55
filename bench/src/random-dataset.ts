import { randomFillSync } from 'node:crypto'
import type { StoredDataset } from './arbalest.js'
import type { Workload } from './cases.js'

/** Random pixels and classes: the speed does not depend on them. Without crop and flip, as in the peer. */
export function randomDataset(workload: Workload): StoredDataset {
  const { sample, classes } = workload
  const pixels = sample.reduce((product, extent) => product * extent, 1)
  const part = (count: number): StoredDataset['train'] => ({
    count,
    sample,
    samples: randomFillSync(new Uint8Array(count * pixels)),
    labels: Int32Array.from(randomFillSync(new Uint16Array(count)), (number) => number % classes),
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
