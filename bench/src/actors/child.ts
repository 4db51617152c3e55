import { setImmediate as turn } from 'node:timers/promises'
import { answerWindows } from '../answer-windows.js'
import type { CaseName, PeerName } from './cases.js'
import type { Opener } from './contestant.js'
import { MEASURES } from './measures.js'

/** Loaded on demand, so that no contestant pays for another's modules. */
const OPENERS: Readonly<Record<PeerName | 'worker' | 'here', () => Promise<Opener>>> = {
  worker: async () => (await import('./ours.js')).openArbalest.bind(undefined, 'worker'),
  here: async () => (await import('./ours.js')).openArbalest.bind(undefined, 'here'),
  postMessage: async () => (await import('./post-message.js')).openPostMessage,
  comlink: async () => (await import('./comlink.js')).openComlink,
  threads: async () => (await import('./threads.js')).openThreads,
  nact: async () => (await import('./nact.js')).openNact
}

const [name, contestant] = process.argv.slice(2) as [CaseName, keyof typeof OPENERS]
const measure = await MEASURES[name](await OPENERS[contestant]())
await turn()
await answerWindows({}, measure)
// The process ends without closing the contestant: nothing of it is needed any more.
process.exit()
