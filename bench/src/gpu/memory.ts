/** Whether words of ours, of PyTorch or of one of NVIDIA's libraries say that the GPU's memory was at its end. */
export function isOutOfMemory(words: string): boolean {
  return /out.?of.?memory|ALLOC(ATION)?_FAILED/i.test(words)
}
