import { createRequire } from 'node:module'

// What a worker thread starts with. `require` opens the files of the thread's modules one after the other, `import` all at once: with several
// threads that start, more than a low limit of open files allows. Under --no-experimental-require-module there is `import` alone.
const entry = './worker-entry.js'
if (process.features.require_module) createRequire(import.meta.url)(entry)
else await import(new URL(entry, import.meta.url).href)
