import { createRequire } from 'node:module'

// What a worker thread starts with. `require` opens the files of the thread's modules one after the other, `import` all at once: with several
// threads that start, more than a low limit of open files allows.
createRequire(import.meta.url)('./worker-entry.js')
