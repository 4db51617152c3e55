/** Samples in memory and what is to be learnt of them: labels, targets, or the next token. */
export interface DatasetSpec {
  readonly count: number
  /** One sample's shape: (C, H, W), (T, F), (F), or (T) tokens. */
  readonly sample: readonly number[]
  /** (count, ...sample): pixels 0 to 255 as bytes, floats taken as they are, or token ids. */
  readonly samples: Uint8Array | Float32Array | Int32Array
  /**
   * The samples are windows of one row of tokens, each below `classes`, instead: sample i begins `stride` * i tokens on, and its target is the
   * same window one token on. Shuffled, they all move by a number of tokens below the stride, another one every epoch, as far as there are any.
   */
  readonly stride?: number
  /** Class numbers (count), each below `classes`. */
  readonly labels?: Int32Array
  readonly classes?: number
  /** Instead of labels: (count, ...target). */
  readonly target?: readonly number[]
  readonly targets?: Float32Array
}

/** Where batches come from that are made outside of the engine. Which batch a reader gets depends on its position alone. */
export interface StreamSpec {
  /** Samples of the data set. */
  readonly count: number
  /** One sample's shape: (C, H, W) or (F), in bytes. */
  readonly sample: readonly number[]
  readonly classes: number
  /** Samples of the usual batch. */
  readonly batch: number
  /** Batches that are kept: those ahead of the readers, and those that were read until their slots are wanted. */
  readonly slots: number
  /** The first position and the one after the last, read again and again; endless from 0 on if left out. */
  readonly range?: readonly [number, number]
}

/** A batch to make: `count` samples from `position` on, or those of the data set that `samples` numbers. */
export interface BatchRequest {
  /** The number of the order: what is made of it is fed under it. */
  readonly turn: number
  readonly position: number
  readonly count: number
  readonly samples?: readonly number[]
}

export interface StreamStatus {
  /** Slots whose batch is being made, is ready, is being read. */
  readonly filling: number
  readonly ready: number
  readonly taken: number
  /** Readers without their batch. */
  readonly waiting: number
  /** Batches read so far, and the seconds that all readers have waited for them. */
  readonly batches: number
  readonly waitSeconds: number
}
