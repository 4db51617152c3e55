import { ActorSystem } from '../../../dist/src/runtime/system.js'
import type { Contestant } from './contestant.js'
import { Counter } from './counter.js'

const COUNTER = new URL('./counter.js', import.meta.url)

/** An actor of this project, through its public surface: typed proxies, a deadline on every ask. */
export async function openArbalest(place: 'worker' | 'here'): Promise<Contestant> {
  const system = new ActorSystem()
  const actor =
    place === 'worker' ? await system.spawn<typeof Counter>(COUNTER, 'Counter', undefined) : await system.spawnLocal(Counter, undefined)
  const { ask, tell } = actor
  return {
    echo: (value) => ask.echo(value),
    add: (value) => tell.add(value),
    added: () => ask.added(),
    close: () => system.stop()
  }
}
