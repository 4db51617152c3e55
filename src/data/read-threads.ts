/** Threads that libuv has for the whole process, set by UV_THREADPOOL_SIZE before it starts; image decoders work in these. */
const LIBUV_THREADS = 4

/**
 * How many threads make samples where nobody says: as many as there are cores, but one fewer than decoders can run, so that files are still
 * read and written while images are decoded.
 */
export function readThreads(cores: number, asked?: number): number {
  const libuv = Number(process.env['UV_THREADPOOL_SIZE']) || LIBUV_THREADS
  return asked ?? Math.max(1, Math.min(cores, libuv - 1))
}
