import { Worker } from 'node:worker_threads'

/** Ends this process when its parent has ended, even while the main thread computes. */
export function endWithParent(): void {
  new Worker(new URL('./end-with-parent-thread.js', import.meta.url), { workerData: process.ppid }).unref()
}
