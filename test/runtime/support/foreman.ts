import type { ActorContext } from '../../../src/runtime/context.js'
import { Recorder } from './actors.js'

/** Has a child in its own thread. */
export class Foreman {
  readonly #context: ActorContext<Foreman>

  constructor(_options: object, context: ActorContext<Foreman>) {
    this.#context = context
  }

  async hire(): Promise<string> {
    const hand = await this.#context.spawnLocal(Recorder, {}, { name: 'hand' })
    await hand.ask.note('hired')
    return hand.name
  }

  fail(): never {
    throw new Error('told to fail')
  }
}
