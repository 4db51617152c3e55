/** What a batch norm's statistics are called here and in PyTorch; all other names agree where a model's layers have PyTorch's names. */
const SUFFIXES = [
  ['.runningMean', '.running_mean'],
  ['.runningVariance', '.running_var']
] as const

export function toPyTorchName(name: string): string {
  const suffix = SUFFIXES.find(([ours]) => name.endsWith(ours))
  return suffix ? name.slice(0, -suffix[0].length) + suffix[1] : name
}

export function fromPyTorchName(name: string): string {
  const suffix = SUFFIXES.find(([, theirs]) => name.endsWith(theirs))
  return suffix ? name.slice(0, -suffix[1].length) + suffix[0] : name
}

/** PyTorch counts the batches that a batch norm has seen; running averages here have a count of their own. */
export function isBatchCounter(name: string): boolean {
  return name.endsWith('num_batches_tracked')
}
