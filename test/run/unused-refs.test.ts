import { expect } from 'chai'
import type { Worker } from 'node:worker_threads'
import { trainWith } from '../../src/run/train.js'
import type { Job } from '../../src/run/job.js'
import { messages } from '../fakes/counted-actors.js'
import { counts } from '../fakes/counting-engine.js'
import { manyRounds } from './support/talked-to.js'

const ACTORS = new URL('../fakes/counted-actors.js', import.meta.url)
const ENGINE = new URL('../fakes/counting-engine.js', import.meta.url)

interface Cost {
  readonly messages: ReadonlyMap<string, number>
  readonly calls: ReadonlyMap<string, number>
  readonly threads: number
  readonly seconds: number
}

/** What a run of 4000 rounds takes while `work` is done with it. */
async function costOf(work: (job: Job) => unknown): Promise<Cost> {
  let threads = 0
  const count = (_: Worker) => void threads++
  process.on('worker', count)
  messages.clear()
  counts.clear()
  try {
    const options = await manyRounds({ until: { steps: 4000 }, evaluateEvery: 1e9, supervisor: ACTORS, synchroniserActor: ACTORS })
    const job = trainWith(options, { engine: ENGINE })
    const start = performance.now()
    await work(job)
    await job.finished
    return { messages: new Map(messages), calls: new Map(counts), threads, seconds: (performance.now() - start) / 1000 }
  } finally {
    process.off('worker', count)
  }
}

/** What programs send; the run itself sends none of it. */
const SENT = [
  ...['pause', 'resume', 'set', 'central', 'model', 'roundsAfter'].map((name) => `Synchroniser.${name}`),
  ...['population', 'resize', 'replace', 'tuning', 'decisions', 'message'].map((name) => `Supervisor.${name}`)
]

describe('the refs of a run that a program does not use', () => {
  it('send no message, start no thread and record nothing', async () => {
    const without = await costOf(() => {})
    const refs: unknown[] = []
    const held = await costOf(({ actors }) => {
      refs.push(actors.synchroniser.ask, actors.supervisor.tell, actors.evaluator, actors.checkpoints, actors.feeder)
      refs.push(actors.learners(), actors.learner(1), actors.synchroniser.rounds())
    })
    for (const cost of [without, held]) {
      expect(SENT.filter((name) => cost.messages.has(name))).to.deep.equal([])
      expect([...cost.calls.keys()]).to.not.include.members(['roundFigures'])
      expect([...cost.calls.keys()]).to.not.include.members(['setRule'])
      // None for a round: a few at the beginning and the end, and one or two each time that the run looks at its progress.
      const sum = [...cost.messages.values()].reduce((all, each) => all + each, 0)
      expect(sum, JSON.stringify([...cost.messages])).below(40 + 20 * cost.seconds)
    }
    expect(held.threads).to.equal(without.threads)
  })

  it('are counted where they are used', async () => {
    const used = await costOf(async ({ actors }) => {
      await actors.synchroniser.ask.pause()
      await actors.supervisor.ask.population()
      await actors.synchroniser.ask.resume()
    })
    expect([...used.messages.keys()]).to.include.members(['Synchroniser.pause', 'Supervisor.population', 'Synchroniser.resume'])
  })
})
