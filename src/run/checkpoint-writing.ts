import type { CheckpointOrder, CheckpointWriter, CheckpointWriterOptions } from '../actors/checkpoint-writer.js'
import { errorOfAsk } from '../actors/error-of-ask.js'
import type { SetAside } from '../checkpoints/set-aside.js'
import type { ActorRef } from '../runtime/actor-ref.js'
import type { ActorSystem } from '../runtime/system.js'

const WRITER = new URL('../actors/checkpoint-writer.js', import.meta.url)

/** The writer of a run's checkpoints. Where its thread has ended, as one does whose memory is exhausted, another one writes what follows. */
export class CheckpointWriting {
  readonly #system: ActorSystem
  readonly #options: CheckpointWriterOptions
  /** undefined before the first one, and once one has ended. */
  #writer: ActorRef<CheckpointWriter> | undefined

  constructor(system: ActorSystem, options: CheckpointWriterOptions) {
    this.#system = system
    this.#options = options
  }

  /** As the writer's `begin` and `copy`: where its thread ends, the run does not begin. */
  async begin(iteration: number): Promise<SetAside[]> {
    return (await this.#living()).askWith({ deadline: Infinity }).begin(iteration)
  }

  async copy(checkpoint: string): Promise<void> {
    await (await this.#living()).askWith({ deadline: Infinity }).copy(checkpoint)
  }

  /** As the writer's `write`. Rejects with ACTOR_GONE where its thread ends meanwhile. */
  async write(order: CheckpointOrder): Promise<string> {
    const writer = await this.#living()
    try {
      return await writer.askWith({ deadline: Infinity }).write(order)
    } catch (error) {
      throw await errorOfAsk(error, writer, 'while it wrote; another one writes the next checkpoint')
    }
  }

  async #living(): Promise<ActorRef<CheckpointWriter>> {
    this.#writer ??= await this.#start()
    return this.#writer
  }

  async #start(): Promise<ActorRef<CheckpointWriter>> {
    const writer = await this.#system.spawn<typeof CheckpointWriter>(WRITER, 'CheckpointWriter', this.#options, {
      name: 'checkpoint writer'
    })
    void writer.exited.then(() => (this.#writer = undefined))
    return writer
  }
}
