import { expect } from 'chai'
import { VirtualClock } from '../../src/runtime/clock.js'
import { ActorSystem } from '../../src/runtime/system.js'
import { TimerScheduler } from '../../src/runtime/timers.js'
import type { ActorContext } from '../../src/runtime/context.js'

/** Sets a timer at the end of a message and in its last hook. */
class Late {
  readonly #context: ActorContext<Late>
  ticks = 0

  constructor(_options: object, context: ActorContext<Late>) {
    this.#context = context
  }

  async work(): Promise<void> {
    await new Promise((resolve) => setTimeout(resolve, 20))
    this.#context.every(1).tick()
  }

  tick(): void {
    this.ticks++
  }

  stopping(): void {
    this.#context.after(60_000).tick()
  }
}

describe('The timers of an actor', () => {
  it('are none once it ends, whatever it sets then', () => {
    const clock = new VirtualClock()
    const timers = new TimerScheduler(clock, () => expect.fail('it fired'))
    timers.every(10, { method: 'before', args: [] })
    timers.end()
    timers.every(10, { method: 'after', args: [] })()
    timers.every(10, { method: 'after', args: [] })
    timers.after(10, { method: 'after', args: [] })
    expect(clock.next).to.equal(Infinity)
  })

  it('keep no process alive that are set while it ends', async () => {
    const timeouts = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length
    await using system = new ActorSystem()
    const late = await system.spawnLocal(Late, {})
    const before = timeouts()
    const working = late.ask.work()
    await new Promise((resolve) => setTimeout(resolve, 1))
    await late.stop()
    await working
    expect(timeouts()).to.equal(before)
  })
})
