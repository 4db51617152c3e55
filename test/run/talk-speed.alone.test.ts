import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { TrainOptions } from '../../src/options/train-options.js'
import type { Job } from '../../src/run/job.js'
import { someRoundsLater, trainManyRounds } from './support/talked-to.js'

const RUNS: Readonly<Record<string, Partial<TrainOptions>>> = {
  'of a third of a millisecond': {},
  'of tens of milliseconds': { model: 'lenet', batch: 256 }
}

/** Pauses in a run; their median leaves out those during which the machine was busy with something else. */
const PAUSES = 21

describe('a run that is asked to pause', () => {
  for (const [length, options] of Object.entries(RUNS))
    it(`rests within a step and 50 ms, with steps ${length}`, async () => {
      const job = await trainManyRounds({ ...options, until: { steps: 1_000_000 }, evaluateEvery: 1e9 })
      const { synchroniser } = job.actors
      const [steps, waits]: [number[], number[]] = [[], []]
      for (let i = 0; i < PAUSES; i++) {
        steps.push(await millisecondsOfAStep(job))
        const start = performance.now()
        await synchroniser.ask.pause()
        waits.push(performance.now() - start)
        await synchroniser.ask.resume()
      }
      job.stop()
      await job.finished
      const shown = `steps of ${steps.map((each) => each.toFixed(1)).join(' ')} ms; waits of ${waits.map(Math.round).join(' ')} ms`
      expect(median(waits), shown).below(median(steps) + 50)
    }).timeout(120_000)
})

/** Over several steps after the run has begun to train. */
async function millisecondsOfAStep(job: Job): Promise<number> {
  const { synchroniser } = job.actors
  await someRoundsLater(job, 1)
  const [start, from] = [performance.now(), (await synchroniser.ask.status()).iterations]
  for (;;) {
    await sleep(50)
    const done = (await synchroniser.ask.status()).iterations - from
    if (done >= 3) return (performance.now() - start) / done
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
}
