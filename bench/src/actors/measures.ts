import { setTimeout as sleep } from 'node:timers/promises'
import type { Window } from '../answer-windows.js'
import type { CaseName } from './cases.js'
import type { Contestant, Opener } from './contestant.js'

/** Measures one window of a case; the same for all contestants. */
export type Measure = (seconds: number) => Promise<Window>

const IN_FLIGHT = 256
/** Messages in an envelope, and envelopes in flight: together fewer than a bounded mailbox takes. */
const TOLD = 256
const ENVELOPES = 3
const IDLERS = 20

/** The measure of each case. It is made once, and its contestants have then started and answered. */
export const MEASURES: Readonly<Record<CaseName, (open: Opener) => Promise<Measure>>> = {
  'ask-round-trip': async (open) => {
    const contestant = await up(open)
    return (seconds) => timed(seconds, (running) => asks(contestant, running))
  },

  'ask-pipelined': async (open) => {
    const contestant = await up(open)
    return (seconds) =>
      timed(seconds, async (running) => sum(await Promise.all(Array.from({ length: IN_FLIGHT }, () => asks(contestant, running)))))
  },

  tell: async (open) => {
    const contestant = await up(open)
    return (seconds) => timed(seconds, (running) => tells(contestant, running))
  },

  /** From the start to the first answer; ending a contestant is not counted. */
  spawn: async (open) => async (seconds) => {
    const window = { work: 0, seconds: 0 }
    while (window.seconds < seconds) {
      const began = performance.now()
      const contestant = await up(open)
      window.seconds += (performance.now() - began) / 1000
      window.work++
      await contestant.close()
    }
    return window
  },

  /** Idle seconds for each second of processor time. */
  idle: async (open) => {
    for (let i = 0; i < IDLERS; i++) await up(open)
    await sleep(500)
    return async (seconds) => {
      const before = process.cpuUsage()
      await sleep(seconds * 1000)
      const { user, system } = process.cpuUsage(before)
      return { work: seconds, seconds: (user + system) / 1e6 }
    }
  }
}

async function up(open: Opener): Promise<Contestant> {
  const contestant = await open()
  if ((await contestant.echo(7)) !== 7) throw new Error('echo: another number came back')
  return contestant
}

/** Whether the window is still open. */
type Running = () => boolean

/** Calls between two looks at the clock. A timer would not fire between messages of one thread, and the cost of a look at each call would be measured. */
const LOOK_EVERY = 16

async function timed(seconds: number, work: (running: Running) => Promise<number>): Promise<Window> {
  const began = performance.now()
  let [looks, on] = [0, true]
  const running = () => {
    if (++looks % LOOK_EVERY === 0) on &&= performance.now() - began < seconds * 1000
    return on
  }
  const done = await work(running)
  return { work: done, seconds: (performance.now() - began) / 1000 }
}

async function asks(contestant: Contestant, running: Running): Promise<number> {
  let count = 0
  while (running()) {
    await contestant.echo(count)
    count++
  }
  return count
}

/** The number of messages that were handled. */
async function tells(contestant: Contestant, running: Running): Promise<number> {
  const before = await contestant.added()
  const inFlight: Promise<number>[] = []
  while (running()) {
    for (let i = 0; i < TOLD; i++) contestant.add(i)
    inFlight.push(contestant.added())
    if (inFlight.length === ENVELOPES) await inFlight.shift()
  }
  await Promise.all(inFlight)
  return (await contestant.added()) - before
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
