// One fault of a device, in a process of its own: nothing of it is any good to others afterwards. Tells what came of it as one JSON object, its last line.
import { expect } from 'chai'
import { readdirSync } from 'node:fs'
import { engine } from '../../../src/engine/native.js'
import { ArbalestError } from '../../../src/errors.js'
import { defineModel, flatten, linear, openDataset, relu, type JobEvent, type TrainOptions } from '../../../src/index.js'
import { trainWith } from '../../../src/run/train.js'
import { watchDevice } from '../../fakes/failing-device.js'
import { takeMemory } from '../../fakes/faulty-learner.js'
import { refused } from '../../support/codes.js'
import { randomSamples, smallTraining } from '../../engine/support/small-training.js'

const [what, backend, folder = '', failsAfter] = process.argv.slice(2) as [string, 'cuda', (string | undefined)?, (string | undefined)?]
const LEARNER = new URL('../../fakes/faulty-learner.js', import.meta.url)

/** Codes and messages of an error and of its causes. */
export interface Told {
  readonly code: string
  readonly message: string
}

function chainOf(error: unknown): Told[] {
  if (!(error instanceof Error)) return []
  const code = error instanceof ArbalestError ? error.code : error.name
  return [{ code, message: error.message }, ...chainOf(error.cause)]
}

/** What is told of a job but for its progress; it is stopped where it has gone on for a while after `enough`. */
async function outcomeOf(
  options: TrainOptions,
  { modules = {}, enough = () => false }: { modules?: object; enough?: (event: JobEvent) => boolean } = {}
): Promise<{ events: readonly JobEvent[]; errors: readonly Told[] }> {
  const events: JobEvent[] = []
  const job = trainWith(options, modules)
  try {
    for await (const event of job) {
      if (event.event !== 'progress') events.push(event)
      else if (events.some(enough)) job.stop()
    }
    await job.finished
    return { events, errors: [] }
  } catch (error) {
    return { events, errors: chainOf(error) }
  }
}

const faults: Readonly<Record<string, () => Promise<object>>> = {
  /** Memory that ends while a replica is made, and while one is bound. */
  async memory() {
    const { program, initial } = smallTraining(backend, { momentum: 0.9 })
    const layout = program.parameters
    const samples = randomSamples(64)
    const replica = engine.createReplica({ backend, layout, threads: 1, seed: 1 })
    const slot = engine.bind(replica, engine.createProgram(program), samples)
    engine.writeVector(replica, 'weights', initial)
    const steps = () => engine.run(replica, slot, { steps: 4, milliseconds: 60_000, position: 0, learningRate: 0.01 }).lossSum
    const before = steps()
    const most = 0.7 * engine.freeMemory(backend, 1, 0)!
    const taken = takeMemory(backend, most)
    await refused('OUT_OF_MEMORY', () => takeMemory(backend, most))
    const other = engine.createReplica({ backend, layout, threads: 1, seed: 1 })
    const large = { ...program, arenas: { ...program.arenas, activations: Math.floor(most / 64) * 64 } }
    await refused('OUT_OF_MEMORY', () => engine.bind(other, engine.createProgram(large), samples))
    // The one beside it goes on, and so does the one that was refused.
    const after = steps()
    expect(engine.bind(other, engine.createProgram(program), samples)).to.equal(0)
    engine.release(taken)
    engine.release(takeMemory(backend, most))
    return { before, after }
  },

  /** A population that would grow where nothing is left. */
  async growth() {
    // A GPU needs some of it for itself, where the stand-in would be slow.
    const layers = backend === 'cuda' ? [flatten(), linear(4000), relu(), linear(4000), relu(), linear(10)] : [flatten(), linear(10)]
    const model = defineModel({ name: 'grown', input: [1, 28, 28], layers })
    const learnerOptions = { backend, leaves: (backend === 'cuda' ? 300 : 32) * 2 ** 20 }
    const learners = { initial: 1, max: 3, window: 0.004 }
    const options: TrainOptions = { model, data: 'digits', backend, batch: 4, learners, learner: LEARNER, learnerOptions }
    return outcomeOf({ ...options, until: { epochs: 40 } }, { enough: ({ event }) => event === 'population' })
  },

  /** A device that fails in the middle of a job, and the job that goes on from its checkpoint in another process. */
  async failure() {
    watchDevice()
    const data = await openDataset('digits', { samples: 300 })
    return outcomeOf(
      {
        model: 'mlp',
        data,
        backend,
        batch: 4,
        learners: 3,
        learner: LEARNER,
        learnerOptions: { backend, ...(failsAfter !== undefined && { failsAfter }) },
        checkpoint: { dir: folder, period: 10 },
        // To be ended, where it is to fail.
        until: { steps: failsAfter === undefined ? 40 : 1e6 }
      },
      { modules: { engine: new URL('../../fakes/failing-device.js', import.meta.url) } }
    )
  },

  /** A job whose convolutions need what is not to be found. */
  async library() {
    const data = await openDataset('digits', { samples: 300 })
    return outcomeOf({ model: 'lenet', data, backend, batch: 4, learners: 1, until: { steps: 2 } })
  }
}

const found = await faults[what]!()
process.stdout.write(`${JSON.stringify({ ...found, checkpoints: folder === '' ? [] : readdirSync(folder).sort() })}\n`)
