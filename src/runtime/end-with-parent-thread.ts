import { workerData } from 'node:worker_threads'

// A thread that ends its process once the one that has started that process is gone: the main thread may be in a loop that does not end.
setInterval(() => {
  if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL')
}, 1000)
