/** What must not compile: checked by tsc, never run. */
import type { ActorSystem } from '../../src/runtime/system.js'
import type { ActorContext } from '../../src/runtime/context.js'
import type { ActorRef } from '../../src/runtime/actor-ref.js'
import type { Faulty, Recorder } from '../runtime/support/actors.js'

class WithMethods {
  readonly value = 1

  method(): number {
    return this.value
  }
}

interface Records {
  readonly name: string
  readonly sizes: readonly number[]
  readonly next?: Records
}

/** Its methods want what cannot go to another thread, and what can. */
interface Picky {
  call(callback: () => void): void
  nested(options: { readonly list: readonly { readonly callback?: () => void }[] }): void
  key(key: symbol): void
  instance(value: WithMethods): void
  table(table: ReadonlyMap<string, () => void>): void
  records(records: Records): void
  bytes(bytes: Float32Array, shared: SharedArrayBuffer, when: Date, error: Error): void
  anything(value: unknown): void
}

export async function unserialisable(picky: ActorRef<Picky>): Promise<void> {
  // @ts-expect-error a function
  await picky.ask.call(() => {})
  // @ts-expect-error a function inside of plain data
  picky.tell.nested({ list: [{ callback: () => {} }] })
  // @ts-expect-error a symbol
  picky.tell.key(Symbol('key'))
  // @ts-expect-error an instance with methods
  await picky.ask.instance(new WithMethods())
  // @ts-expect-error functions in a map
  picky.tell.table(new Map([['key', () => {}]]))
  picky.tell.nested({ list: [{}] })
  picky.tell.records({ name: 'a', sizes: [1], next: { name: 'b', sizes: [] } })
  picky.tell.bytes(new Float32Array(1), new SharedArrayBuffer(4), new Date(), new Error('x'))
  picky.tell.anything({ plain: true })
}

export async function insideAnActor(context: ActorContext<Recorder>, friend: ActorRef<Recorder>): Promise<void> {
  const cancel: () => void = context.after(10).note('later')
  cancel()
  // @ts-expect-error an argument of the wrong type
  context.every(10).note(7)
  context.watch(friend)
  context.supervise({ strategy: 'restForOne', intensity: { restarts: 1, within: 10 } })
  // @ts-expect-error there is no such strategy
  context.supervise({ strategy: 'noneForOne' })
  const child: ActorRef<Faulty> = await context.spawn<typeof Faulty>(new URL('file:///x.js'), 'Faulty', {}, { restart: 'transient' })
  // @ts-expect-error there is no such restart type
  await context.spawn<typeof Faulty>(new URL('file:///x.js'), 'Faulty', {}, { restart: 'sometimes' })
  child.tell.alive()
}

export async function wrongUses(system: ActorSystem, module: URL): Promise<void> {
  const recorder = await system.spawn<typeof Recorder>(module, 'Recorder', {})
  const text: string = await recorder.ask.slowly('a', 1)
  const later: string = await recorder.ask.wait()
  recorder.tell.note(text + later)
  // @ts-expect-error there is no such method
  recorder.tell.sing()
  // @ts-expect-error an argument of the wrong type
  recorder.tell.note(7)
  // @ts-expect-error an argument too few
  await recorder.ask.slowly('a')
  // @ts-expect-error the answer is a string
  const wrong: number = await recorder.ask.wait()
  const faulty = await system.spawn<typeof Faulty>(module, 'Faulty', { failToStart: true })
  // @ts-expect-error hooks are not messages
  await faulty.ask.started()
  // @ts-expect-error an option of the wrong type
  await system.spawn<typeof Faulty>(module, 'Faulty', { failToStart: 1 + wrong })
}

type Json = string | number | boolean | null | Json[] | { [key: string]: Json }

/** Data of which the type is a union with itself. */
export async function recursive(store: ActorRef<{ put(value: Json): Json; all(values: readonly Json[]): void }>): Promise<void> {
  const stored: Json = await store.ask.put({ list: [1, null, { deep: ['x'] }] })
  store.tell.all([stored])
  // @ts-expect-error a function inside of plain data
  store.tell.put({ call: () => {} })
}
