import { dispatch, query, spawn, start, stop, type Ref } from 'nact'
import type { Contestant } from './contestant.js'
import { Counter } from './counter.js'

type NactMessage =
  | { readonly method: 'add'; readonly value: number }
  | { readonly method: 'echo' | 'added'; readonly value: number; readonly sender: Ref<number> }

/**
 * Milliseconds after which a question is asked again. nact identifies questions by 32 random bits: of millions a minute, 256 at once, one now and then
 * gets the number of another one and is never answered.
 */
const DEADLINE = 100

/** An actor of nact, always in the caller's thread. */
export function openNact(): Contestant {
  const system = start()
  const counter = new Counter()
  const actor = spawn(system, (_state: undefined, message: NactMessage) => {
    if (message.method === 'add') counter.add(message.value)
    else dispatch(message.sender, message.method === 'echo' ? counter.echo(message.value) : counter.added())
    return undefined
  })
  const ask = (method: 'echo' | 'added', value: number): Promise<number> =>
    query(actor, (sender: Ref<number>) => ({ method, value, sender }), DEADLINE).catch(() => ask(method, value))
  return {
    echo: (value) => ask('echo', value),
    add: (value) => dispatch(actor, { method: 'add', value }),
    added: () => ask('added', 0),
    close: () => Promise.resolve(stop(system))
  }
}
