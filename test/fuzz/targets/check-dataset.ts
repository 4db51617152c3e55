import type { DatasetSpec } from '../../../src/engine/contract.js'

/** Throws where a data set that was taken is not whole: the engine would read past its end or train towards a class that is none. */
export function checkDataset({ count, sample, samples, labels, classes }: DatasetSpec): void {
  const elements = sample.reduce((product, extent) => product * extent, count)
  if (samples.length !== elements) throw new Error(`${samples.length} bytes of samples where ${elements} are needed`)
  if (labels?.length !== count) throw new Error(`${labels?.length} labels for ${count} samples`)
  const stranger = labels.find((label) => !(label >= 0 && label < classes!))
  if (stranger !== undefined) throw new Error(`label ${stranger} of ${classes} classes`)
}
