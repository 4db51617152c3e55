import { createRequire } from 'node:module'
import { REQUIRES_MODULES } from '../node.js'

// What a worker thread starts with. `require` opens the files of the thread's modules one after the other, `import` all at once: with several
// threads that start, more than a low limit of open files allows. Under --no-experimental-require-module and Yarn's Plug'n'Play there is `import` alone.
const entry = './worker-entry.js'
if (REQUIRES_MODULES) createRequire(import.meta.url)(entry)
else await import(new URL(entry, import.meta.url).href)
