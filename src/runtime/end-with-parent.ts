import { Worker } from 'node:worker_threads'

/** Ends this process once the one that has started it is gone, whatever the main thread does. */
export function endWithParent(): void {
  new Worker(new URL('./end-with-parent-thread.js', import.meta.url), { workerData: process.ppid }).unref()
}
