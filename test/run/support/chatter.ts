import { actorsAt, type JobActors } from '../../../src/actors/index.js'
import type { MessagePort } from '../../../src/runtime/port.js'
import { ArbalestError } from '../../../src/errors.js'

/** What came of the messages that a sender sent. */
export interface Chatter {
  readonly answered: number
  /** By code. */
  readonly refused: Readonly<Record<string, number>>
}

export interface ChatterOptions {
  readonly seed: number
  readonly messages: number
  /** Whether learners are told to die. */
  readonly deadly: boolean
}

interface Warm {
  warm(by: number): number
  die(): void
}

/** Messages of a sender that may be without an answer: a sender without a limit fills the memory. */
const UNANSWERED = 20

/** Sends messages to the actors of a run at random times, each without waiting for the answers of those before. */
export async function chatter(actors: JobActors, { seed, messages, deadly }: ChatterOptions): Promise<Chatter> {
  const random = generator(seed)
  const refused: Record<string, number> = {}
  let answered = 0
  const asked = new Set<Promise<void>>()
  for (let i = 0; i < messages; i++) {
    const answer = oneOf(actors, random, deadly).then(
      () => void answered++,
      (error: unknown) => {
        const code = error instanceof ArbalestError ? error.code : String(error)
        refused[code] = (refused[code] ?? 0) + 1
      }
    )
    asked.add(answer)
    void answer.then(() => asked.delete(answer))
    if (asked.size >= UNANSWERED) await Promise.race(asked)
    // Some come at once, most of them a little later.
    if (random() < 0.8) await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 6 * random()))])
  }
  await Promise.all(asked)
  return { answered, refused }
}

/** In a thread of its own. */
export function chatterOver(port: MessagePort, options: ChatterOptions): Promise<Chatter> {
  return chatter(actorsAt(port), options)
}

function oneOf(actors: JobActors, random: () => number, deadly: boolean): Promise<unknown> {
  const { synchroniser, supervisor, evaluator, checkpoints } = actors
  const learner = actors.learner<Warm>(Math.floor(3 * random()))
  const choices: (readonly [weight: number, send: () => Promise<unknown>])[] = [
    [4, () => synchroniser.ask.status()],
    [2, () => supervisor.ask.population()],
    [1, () => synchroniser.ask.central()],
    [1, () => synchroniser.ask.roundsAfter(-1)],
    [3, () => rest(actors)],
    [2, () => synchroniser.ask.set({ learningRate: { factor: 0.95 + 0.1 * random() } })],
    [1, () => synchroniser.ask.set({ period: 1 + Math.floor(3 * random()), momentum: 0.3 * random() })],
    [2, () => supervisor.ask.resize(1 + Math.floor(3 * random()))],
    [1, () => supervisor.ask.replace(0)],
    [2, () => learner.ask.warm(0.01)],
    [0.3, () => evaluator.ask.measure()],
    [0.3, () => checkpoints.ask.save()],
    [0.1, () => synchroniser.ask.model()],
    // What cannot be is refused, and disturbs nothing.
    [0.5, () => supervisor.ask.replace(9)],
    [0.5, () => synchroniser.ask.set({ alpha: 2 })],
    [deadly ? 1 : 0, () => learner.ask.die()]
  ]
  let at = random() * choices.reduce((sum, [weight]) => sum + weight, 0)
  return choices.find(([weight]) => (at -= weight) < 0)![1]()
}

async function rest({ synchroniser }: JobActors): Promise<void> {
  try {
    await synchroniser.ask.pause()
  } finally {
    await synchroniser.ask.resume()
  }
}

function generator(seed: number): () => number {
  let state = seed
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32
}
