/** Samples in memory with their labels or targets; with `stride`, windows of tokens whose targets are the next tokens. */
export interface DatasetSpec {
  readonly count: number
  /** One sample's shape: (C, H, W), (T, F), (F), or (T) tokens. */
  readonly sample: readonly number[]
  /** (count, ...sample): pixels 0 to 255 as bytes, floats taken as they are, or token ids. */
  readonly samples: Uint8Array | Float32Array | Int32Array
  /**
   * The samples are windows of one row of tokens, each below `classes`: sample i begins at token `stride` * i, and its target is the window that begins
   * one token later. In a shuffled epoch all windows move by the same number of tokens, which is less than the stride and changes with the epoch, if the
   * row is long enough.
   */
  readonly stride?: number
  /** Class numbers (count, ...label), each below `classes`; of several to a sample, any may be -1, which counts for nothing. */
  readonly labels?: Int32Array
  /** The shape of a sample's labels: (T), or (H, W) of its pixels; omitted where it has one. */
  readonly label?: readonly number[]
  readonly classes?: number
  /** Instead of labels: (count, ...target). */
  readonly target?: readonly number[]
  readonly targets?: Float32Array
}

/** A source of batches that are made outside of the engine. The batch that a reader gets depends on its position alone. */
export interface StreamSpec {
  /** Samples of the data set. */
  readonly count: number
  /** One sample's shape: (C, H, W), (T, F) or (F), in bytes. */
  readonly sample: readonly number[]
  readonly classes?: number
  /** The shape of a sample's class numbers; omitted where it has one. */
  readonly label?: readonly number[]
  /** Instead of classes: the shape of a target. */
  readonly target?: readonly number[]
  /** Samples of the usual batch. */
  readonly batch: number
  /** The number of batches that are kept: those ahead of the readers, and those that were read, until their slots are needed. */
  readonly slots: number
  /** The first position and the one after the last, a range that is read repeatedly; endless from 0 on if omitted. */
  readonly range?: readonly [number, number]
}

/** A batch to make: `count` samples from `position` on, or the samples of the data set with the numbers `samples`. */
export interface BatchRequest {
  /** The number under which the batch is fed. */
  readonly turn: number
  readonly position: number
  readonly count: number
  readonly samples?: readonly number[]
}

export interface StreamStatus {
  /** Slots whose batch is being made, is ready or is being read. */
  readonly filling: number
  readonly ready: number
  readonly taken: number
  /** Readers without their batch. */
  readonly waiting: number
  /** Batches that were read so far, and the seconds for which all readers together have waited. */
  readonly batches: number
  readonly waitSeconds: number
}
