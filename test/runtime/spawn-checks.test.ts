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
}

describe('A spawn', () => {
  let system: ActorSystem
  beforeEach(() => (system = new ActorSystem()))
  afterEach(() => system.stop())

  it('is refused a module that is no URL, and a class that is none', async () => {
    for (const module of ['./actors.js', ACTORS.pathname, ACTORS.href, undefined])
      await refused('INVALID_OPTION', () => system.spawn(module as never, 'Recorder', {} as never), 'module: received', 'new URL(')
    for (const none of [undefined, {}, 'Recorder'])
      await refused('INVALID_OPTION', () => system.spawnLocal(none as never, {} as never), 'actorClass: received')
  })

  const options = { restart: 'always', shutdown: '5s', deadline: NaN, name: 7, mailbox: 500, heartbeat: 500 }
  for (const [option, value] of Object.entries(options))
    it(`is refused the ${option} ${value}`, async () => {
      const how = { [option]: value } as never
      await refused('INVALID_OPTION', () => system.spawn(ACTORS, 'Recorder', {} as never, how), `${option}: received`, `${value}`)
      await refused('INVALID_OPTION', () => system.spawnLocal(Timed, {}, how), `${option}: received`, `${value}`)
    })
})

describe('What is no time and no policy', () => {
  it('is refused by timers', async () => {
    await using system = new ActorSystem()
    const timed = await system.spawnLocal(Timed, {})
    for (const time of [NaN, '100', undefined]) {
      await refused('INVALID_OPTION', () => timed.ask.after(time), 'after: received')
      await refused('INVALID_OPTION', () => timed.ask.every(time), 'every: received')
    }
  })

  it('is refused by supervision', async () => {
    for (const supervision of [{ strategy: 'one_for_one' }, { backoff: { first: '10' } }, { backoff: { factor: NaN } }])
      await refused('INVALID_OPTION', () => new ActorSystem({ supervision: supervision as never }))
  })
})
