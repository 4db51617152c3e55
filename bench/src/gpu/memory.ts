/** Whether an error message, ours, PyTorch's or that of one of NVIDIA's libraries, says that the GPU has no memory left. */
export function isOutOfMemory(message: string): boolean {
  return /out.?of.?memory|ALLOC(ATION)?_FAILED/i.test(message)
}
