import { setImmediate as turn } from 'node:timers/promises'
import { answerWindows } from '../answer-windows.js'
import type { CaseName, PeerName } from './cases.js'
import type { Opener } from './contestant.js'
import { MEASURES } from './measures.js'

/** Loaded where it is asked for: no contestant pays for another's modules. */
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
// What was measured is worth nothing now, its threads included.
process.exit()
