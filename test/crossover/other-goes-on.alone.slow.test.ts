import { expect } from 'chai'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { engine } from '../../src/engine/native.js'
import type { FinishedEvent, JobEvent, TrainOptions } from '../../src/index.js'
import type { Job } from '../../src/run/job.js'
import { Admission } from '../../src/run/memory/admission.js'
import { train, trainWith } from '../../src/run/train.js'

const ENDLESS: TrainOptions = {
  model: 'mlp',
  data: 'digits',
  batch: 8,
  learners: 2,
  until: { epochs: 100_000 },
  optimiser: { milestones: [] },
  seed: 5,
  evaluateEvery: 1e6,
  synchroniser: 'ssgd',
  hosts: 'loopback',
  link: '1Gbit'
}

/** Two jobs that take turns, and the turns as the engine has timed them. */
class Pair {
  readonly jobs: readonly [Job, Job]
  readonly #lease = engine.createLease({ shares: [1, 1] })
  readonly #link = engine.createRatedLink({ bytesPerSecond: 1.25e8, latency: 0 })
  readonly #turns: { readonly job: number; readonly start: number; readonly end: number }[] = []

  constructor(one: Partial<TrainOptions>, other: Partial<TrainOptions> = {}) {
    const admission = new Admission(2, () => {
      throw new Error('the jobs have arenas of their own')
    })
    engine.setLease(this.#lease, { mode: 'crossed' })
    this.#look()
    const start = (options: Partial<TrainOptions>, job: number) =>
      trainWith({ ...ENDLESS, ...options }, { shared: { lease: this.#lease, job, admission, link: this.#link } })
    this.jobs = [start(one, 0), start(other, 1)]
  }

  /** Rounds that the second job has made. */
  get rounds(): number {
    this.#look()
    return engine.leaseFigures(this.#lease)[1]!.rounds
  }

  async makesRounds(rounds = 15): Promise<void> {
    const until = this.rounds + rounds
    while (this.rounds < until) await sleep(5)
  }

  /** The longest time, in milliseconds, for which no job had the device between two turns, from the first turn of the second job to its last one. */
  longestIdle(): number {
    this.#look()
    const turns = this.#turns.toSorted((a, b) => a.start - b.start)
    const own = turns.flatMap(({ job }, i) => (job === 1 ? [i] : []))
    const during = turns.slice(own[0], own.at(-1)! + 1)
    return Math.max(...during.slice(1).map(({ start }, i) => 1000 * (start - during[i]!.end)))
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const job of this.jobs) job.stop()
    await Promise.allSettled(this.jobs.map(({ finished }) => finished))
    engine.release(this.#lease)
    engine.release(this.#link)
  }

  #look(): void {
    for (const job of [0, 1]) {
      const numbers = engine.leaseSpans(this.#lease, job)
      for (let i = 0; i < numbers.length; i += 2) this.#turns.push({ job, start: numbers[i]!, end: numbers[i + 1]! })
    }
  }
}

describe('a job that takes turns with another one goes on within 100 ms', () => {
  it('while that one pauses, is evaluated, takes checkpoints, changes its learners, and stops', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'arbalest-crossover-'))
    await using pair = new Pair({ checkpoint: { dir, period: 20 } })
    const [first] = pair.jobs
    const { synchroniser, supervisor, evaluator, checkpoints } = first.actors
    await pair.makesRounds()
    const { round } = await synchroniser.ask.pause()
    await pair.makesRounds()
    expect(await synchroniser.ask.status()).to.include({ round, paused: true })
    synchroniser.tell.resume()
    for (const change of [
      evaluator.ask.measure(),
      checkpoints.ask.save(),
      supervisor.ask.resize(3),
      supervisor.ask.replace(0),
      supervisor.ask.resize(1)
    ]) {
      await pair.makesRounds()
      await change
    }
    first.stop()
    await pair.makesRounds()
    await first.finished
    await pair.makesRounds()
    expect(readdirSync(dir).filter((name) => name.startsWith('checkpoint'))).to.not.have.length(0)
    expect(pair.longestIdle()).below(100)
    rmSync(dir, { recursive: true })
  })

  for (const how of ['throw', 'exit'] as const)
    it(`where a learner of that one dies by ${how} while it has the device`, async () => {
      const learner = new URL('../fakes/half-gradient-learner.js', import.meta.url)
      await using pair = new Pair({ learner, learnerOptions: { how } })
      const events: JobEvent[] = []
      void (async () => {
        for await (const event of pair.jobs[0]) events.push(event)
      })()
      await pair.makesRounds(60)
      while (!events.some(({ event }) => event === 'learnerLost')) await sleep(5)
      await pair.makesRounds()
      expect(pair.longestIdle()).below(100)
    })

  it('where that one fails', async () => {
    await using pair = new Pair({ optimiser: { learningRate: 1e30 } })
    const failed = pair.jobs[0].finished.catch((error: { readonly code: string }) => error.code)
    expect(await failed).to.equal('LOSS_NOT_FINITE')
    await pair.makesRounds(60)
    expect(pair.longestIdle()).below(100)
  })

  it('while that one finds its number of learners, and each has the weights that it has alone', async () => {
    const steps = { until: { steps: 400 } }
    await using pair = new Pair({ learners: { initial: 1, max: 2, window: 0.004 } }, steps)
    const [tuned, other] = pair.jobs
    let decisions = 0
    let settled = Infinity
    for await (const event of tuned) {
      if (event.event === 'population') decisions++
      if (event.event === 'population' && event.action === 'settle') settled = Math.min(settled, event.round)
      if (event.event === 'progress' && event.iteration > settled) tuned.stop()
    }
    const { population, weightsSha256, iterations }: FinishedEvent = await tuned.finished
    expect(decisions).above(1)
    const again = { ...ENDLESS, learners: { schedule: population }, until: { steps: iterations } }
    expect((await train(again).finished).weightsSha256).to.equal(weightsSha256)
    expect((await other.finished).weightsSha256).to.equal((await train({ ...ENDLESS, ...steps }).finished).weightsSha256)
    expect(pair.longestIdle()).below(100)
  })
})
