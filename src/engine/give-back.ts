/**
 * Frees the memory of numbers that nobody reads again, at once: the garbage collector may let hundreds of megabytes lie. Afterwards the array is empty.
 */
export function giveBack({ buffer }: Float32Array | Float64Array): void {
  if (!(buffer instanceof ArrayBuffer)) return
  // What is posted to a closed port goes with its memory, in the same call; what is posted before stays until a collection.
  const { port1 } = new MessageChannel()
  port1.close()
  port1.postMessage(buffer, [buffer])
}
