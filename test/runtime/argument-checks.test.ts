import { expect } from 'chai'
import { ActorSystem } from '../../src/runtime/system.js'
import { refused } from '../support/codes.js'
import type { ActorContext } from '../../src/runtime/context.js'

const ACTORS = new URL('./support/actors.js', import.meta.url)

class Timed {
  readonly #context: ActorContext<Timed>

  constructor(_options: object, context: ActorContext<Timed>) {
    this.#context = context
  }

  after(time: unknown): void {
    this.#context.after(time as number).after(0)
  }

  every(time: unknown): void {
    this.#context.every(time as number).every(0)
  }

  watch(other: unknown): void {
    this.#context.watch(other as never)
  }
}

describe('A spawn', () => {
  let system: ActorSystem
  beforeEach(() => (system = new ActorSystem()))
  afterEach(() => system.stop())

  it('is refused a module that is no URL, and a class that is none', async () => {
    for (const module of ['./actors.js', ACTORS.pathname, ACTORS.href, undefined])
      await refused('INVALID_OPTION', () => system.spawn(module as never, 'Recorder', {} as never), 'module: received', 'new URL(')
    for (const none of [undefined, {}, 'Recorder', () => ({})])
      await refused('INVALID_OPTION', () => system.spawnLocal(none as never, {} as never), 'actorClass: received')
    for (const none of [undefined, Timed])
      await refused('INVALID_OPTION', () => system.spawn(ACTORS, none as never, {} as never), 'className: received')
  })

  const options = { restart: 'always', shutdown: '5s', deadline: NaN, name: 7, mailbox: 500, heartbeat: 500, worker: 3, cancel: 'stop' }
  for (const [option, value] of Object.entries(options))
    it(`is refused the ${option} ${value}`, async () => {
      const how = { [option]: value } as never
      await refused('INVALID_OPTION', () => system.spawn(ACTORS, 'Recorder', {} as never, how), `${option}: received`, `${value}`)
      await refused('INVALID_OPTION', () => system.spawnLocal(Timed, {}, how), `${option}: received`, `${value}`)
    })
})

describe('An option that there is not', () => {
  it('is refused by all that take options, which would go by their defaults', async () => {
    await using system = new ActorSystem()
    const timed = await system.spawnLocal(Timed, {})
    const spawn = (how: unknown) => system.spawn(ACTORS, 'Recorder', {} as never, how as never)
    const rows: readonly (readonly [work: () => unknown, words: string])[] = [
      [() => spawn({ restarts: 'permanent' }), 'restarts: received "permanent"; use only name, restart,'],
      [() => spawn({ mailbox: { size: 8 } }), 'mailbox.size: received 8; use only capacity, whenFull'],
      [() => spawn({ heartbeat: { timeout: 500, period: 5 } }), 'heartbeat.period: received 5; use only timeout'],
      [() => system.spawnLocal(Timed, {}, { worker: 'other' } as never), 'worker: received "other"; use only name, restart,'],
      [() => new ActorSystem({ strategy: 'allForOne' } as never), 'strategy: received "allForOne"; use only supervision,'],
      [() => new ActorSystem({ supervision: { backoff: { frist: 5 } } as never }), 'backoff.frist: received 5; use only first,'],
      [() => timed.askWith({ timeout: 5 } as never), 'timeout: received 5; use only deadline, signal'],
      [() => timed.stop({ timeout: 5 } as never), 'timeout: received 5; use only deadline']
    ]
    for (const [work, words] of rows) await refused('INVALID_OPTION', work, words)
    expect(await timed.ask.after(1)).to.equal(undefined)
  })
})

describe('What is no time, no policy and no ref', () => {
  it('is refused by timers', async () => {
    await using system = new ActorSystem()
    const timed = await system.spawnLocal(Timed, {})
    for (const time of [NaN, '100', undefined]) {
      await refused('INVALID_OPTION', () => timed.ask.after(time), 'after: received')
      await refused('INVALID_OPTION', () => timed.ask.every(time), 'every: received')
    }
  })

  it('is refused by stops, which leave what they were to stop as it is', async () => {
    await using system = new ActorSystem()
    const timed = await system.spawnLocal(Timed, {})
    for (const stop of [(options: never) => timed.stop(options), (options: never) => system.stop(options)])
      for (const [options, refusal] of [
        [null, 'options: received null'],
        [500, 'options: received 500'],
        [{ deadline: '5s' }, 'deadline: received "5s"'],
        [{ deadline: NaN }, 'deadline: received NaN']
      ] as const)
        await refused('INVALID_OPTION', () => stop(options as never), refusal)
    expect(await timed.ask.after(1)).to.equal(undefined)
  })

  it('is refused by asks', async () => {
    await using system = new ActorSystem()
    const timed = await system.spawnLocal(Timed, {})
    for (const none of [undefined, null, 500])
      await refused('INVALID_OPTION', () => timed.askWith(none as never).after(1), 'options: received')
  })

  it('is refused by supervision', async () => {
    const none = [
      'allForOne',
      null,
      { strategy: 'one_for_one' },
      { backoff: { first: '10' } },
      { backoff: { factor: NaN } },
      { backoff: 10 }
    ]
    const intensities = [null, 5, {}, { restarts: '3', within: 1_000 }, { restarts: 3, within: null }]
    for (const supervision of [...none, ...intensities.map((intensity) => ({ intensity }))])
      await refused('INVALID_OPTION', () => new ActorSystem({ supervision: supervision as never }))
  })

  it('is refused where another actor is to be watched', async () => {
    await using system = new ActorSystem()
    const timed = await system.spawnLocal(Timed, {})
    for (const none of [undefined, 'timed', {}]) await refused('INVALID_OPTION', () => timed.ask.watch(none), 'watch: received')
  })
})
