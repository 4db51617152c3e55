import { workerData } from 'node:worker_threads'

// Ends the process when its parent has ended: another process is its parent then. The main thread may be in a loop that does not end.
setInterval(() => {
  if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL')
}, 1000)
