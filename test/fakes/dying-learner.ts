import { threadId } from 'node:worker_threads'
import type { LearnerContext, LearnerPlugin } from '../../src/learner/learner-plugin.js'

export const WAYS_TO_DIE = ['throw', 'reject', 'exit', 'heap', 'terminate', 'poll', 'spin'] as const
export type WayToDie = (typeof WAYS_TO_DIE)[number]

export interface Death {
  readonly how: WayToDie
  /** Number of the learner that dies, and after how many steps. */
  readonly victim: number
  readonly after: number
  /** Where the victim's thread number appears when it wants to be terminated. */
  readonly thread: SharedArrayBuffer
}

/** A learner of single steps; one of them dies in the given way. */
export class DyingLearner implements LearnerPlugin {
  readonly #context: LearnerContext<Death>
  #steps = 0

  constructor(context: LearnerContext<Death>) {
    this.#context = context
  }

  async step(): Promise<void> {
    const { options, learner, replica } = this.#context
    if (learner === options.victim && this.#steps >= options.after) await die(options)
    else this.#steps += (await replica.run(1)).steps
  }
}

export default DyingLearner

async function die({ how, thread }: Death): Promise<void> {
  if (how === 'throw') throw new RangeError('learner: told to throw')
  if (how === 'reject') void Promise.reject(new RangeError('learner: told to reject'))
  if (how === 'exit') process.exit(7)
  if (how === 'heap') for (const all: unknown[] = []; ;) all.push(Array.from({ length: 1e5 }, Math.random))
  if (how === 'terminate') Atomics.store(new Int32Array(thread), 0, threadId)
  if (how === 'spin') for (;;);
  // Polls, and makes no progress.
  await new Promise((resolve) => setTimeout(resolve, 5))
}
