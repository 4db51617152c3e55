import type { Engine, Handle, HostsSpec } from '../engine/contract.js'
import { messageOf, warn } from '../errors.js'
import type { SharedOutcome } from './shared-outcome.js'

/** Seconds that hosts wait for each other at the end. */
const END_SECONDS = 30

/** This process as one of the hosts of several jobs. The first one decides whose turn it is on all devices. */
export class CrossedHosts {
  readonly handle: Handle
  readonly #engine: Engine
  /** Messages alone do not keep the process alive. */
  readonly #alive = setInterval(() => {}, 60_000)

  constructor(engine: Engine, spec: HostsSpec) {
    this.#engine = engine
    this.handle = engine.openHosts(spec)
  }

  /** How the jobs have trained together, as the first host has measured it: `decide` runs there. Rejects with HOST_LOST. */
  async decided(decide: () => Promise<SharedOutcome>): Promise<SharedOutcome> {
    const { awaitHosts } = await import('../hosts/hosts-link.js')
    const { HostMailbox } = await import('../hosts/host-mailbox.js')
    await awaitHosts(this.#engine, this.handle)
    const mailbox = new HostMailbox(this.#engine, this.handle)
    if (mailbox.rank > 0) return (await mailbox.receive(0)) as SharedOutcome
    const outcome = await decide()
    for (const other of mailbox.others) mailbox.send(other, outcome)
    return outcome
  }

  /** When every host has called it, or is lost. */
  async end(): Promise<void> {
    try {
      const { endHosts } = await import('../hosts/hosts-link.js')
      await endHosts(this.#engine, this.handle, END_SECONDS)
    } catch (error) {
      warn(messageOf(error))
    } finally {
      clearInterval(this.#alive)
      this.#engine.release(this.handle)
    }
  }
}
