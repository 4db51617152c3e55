/**
 * Frees the memory of an array that nobody reads again. The array is empty afterwards. The garbage collector alone may leave hundreds of megabytes for a while.
 */
export function giveBack({ buffer }: Float32Array | Float64Array): void {
  if (!(buffer instanceof ArrayBuffer)) return
  // What is posted to a closed port goes with its memory, in the same call; what is posted before stays until a collection.
  const { port1 } = new MessageChannel()
  port1.close()
  port1.postMessage(buffer, [buffer])
}
