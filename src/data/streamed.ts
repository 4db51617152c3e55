import type { DatasetSpec } from '../engine/contract.js'

/** Samples that are made from something stored while the learners train, by a reader in the threads of a pool. */
export interface StreamedSamples {
  readonly count: number
  /** (C, H, W) or (F), in bytes: pixels from 0 to 255. */
  readonly sample: readonly number[]
  readonly classes: number
  /** Of each sample. */
  readonly labels: Int32Array
  /** What the reader is told of each sample: a path, a key. */
  readonly items: readonly string[]
  readonly reader: ReaderSpec
  /** Made without random numbers where it is true, also to learn from. */
  readonly still?: boolean
  /** It has classes alone. */
  readonly target?: undefined
  readonly stride?: undefined
}

/** A module that exports `openReader`, and what it is opened with: anything that can be posted to a thread. */
export interface ReaderSpec {
  readonly module: string
  readonly options: unknown
}

/** How a data set streams. */
export interface FeedOptions {
  /** Threads that make samples; as many as there are cores if left out, but no more than libuv has to decode with, less one. */
  readonly threads?: number
  /** Batches made ahead of each learner; 4 if left out. */
  readonly ahead?: number
  /** Bytes in which samples to be measured on are kept once they are made; an eighth of the free memory if left out. */
  readonly cache?: number
  /** What becomes of a sample that cannot be made: `fail` ends the job, `skip` takes the next one in its place and says so. */
  readonly onBadSample?: 'fail' | 'skip'
}

export function streams(samples: DatasetSpec | StreamedSamples): samples is StreamedSamples {
  return 'reader' in samples
}
