import { expect } from 'chai'
import { RunBoard } from '../../src/dashboard/run-board.js'
import { RunWatch, secondsNow, type WatchedJob } from '../../src/dashboard/run-watch.js'
import type { GroupRule, RoundFigures } from '../../src/engine/contract.js'
import type { JobEvent } from '../../src/observe/events.js'
import { EventStream } from '../../src/observe/event-stream.js'
import { newBoard, progressAt, startedWith } from './support/board.js'

const RULE: GroupRule = { kind: 'synchronous', central: { kind: 'sma', alpha: null, momentum: 0 }, adopts: false, period: 1, from: 0 }

/** A job without actors: answers what these would, of the rounds that it is told. */
class FakeJob {
  readonly events = new EventStream<JobEvent>()
  rounds: readonly RoundFigures[] = []
  readonly #asked = {
    status: () => ({ round: this.rounds.length, paused: false, rule: RULE }),
    population: () => ({ learners: 1, places: [{ place: 0, learner: 0, state: 'training' }] }),
    sampledRounds: (round: number) => this.rounds.filter((each) => each.round > round)
  }

  train(rounds: number): void {
    this.rounds = Array.from({ length: rounds }, (_, round) => ({
      round,
      iteration: round,
      began: round,
      seconds: round + 1,
      averaged: 0,
      loss: 1,
      members: [{ learner: 0, distance: 1, waited: 0 }]
    }))
  }

  get watched(): WatchedJob {
    const actor = { askWith: () => this.#asked }
    const actors = { synchroniser: actor, supervisor: actor }
    return { actors, [Symbol.asyncIterator]: () => this.events[Symbol.asyncIterator]() } as unknown as WatchedJob
  }
}

describe('a run that is watched', () => {
  it('shows the rounds of the next attempt from its first on, when the run has gone back', async () => {
    const job = new FakeJob()
    const board = newBoard()
    const watch = new RunWatch(job.watched, board, { event: 'run', options: {}, versions: {} })
    const distance = () => board.place(0)![5]
    job.events.push(startedWith(1))
    await new Promise(setImmediate)
    job.train(100)
    await watch.look()
    expect(distance()).to.equal(1)
    job.events.push({ event: 'wentBack', iteration: 100, learningRateScale: 0.5, retries: 1 })
    await new Promise(setImmediate)
    job.train(3)
    await watch.look()
    expect(distance()).to.equal(1)
    // The same rounds are told once.
    await watch.look()
    expect(distance()).to.equal(null)
    job.events.end()
    await watch.ended
  })

  it('goes on along its time where the clock of the system is put', async () => {
    const job = new FakeJob()
    const board = new RunBoard('run 1', { name: 'lenet on digits', began: secondsNow(), isLive: true })
    const watch = new RunWatch(job.watched, board, { event: 'run', options: {}, versions: {} })
    job.events.push(startedWith(1))
    await new Promise(setImmediate)
    const { now } = Date
    try {
      for (const [iteration, put] of [3600, -3600, 7200].entries()) {
        Date.now = () => now() + 1000 * put
        job.events.push(progressAt(iteration))
        await new Promise(setImmediate)
        await watch.look()
      }
    } finally {
      Date.now = now
    }
    const { progress, 'place 0': place } = board.whole().curves!
    for (const { points } of [progress!, place!]) expect(points).to.have.length(3)
    expect(progress!.points.map((point) => Math.floor(point[1]! / 60))).to.deep.equal([0, 0, 0])
    expect(place!.points.map(([seconds]) => Math.floor(seconds! / 60))).to.deep.equal([0, 0, 0])
    job.events.end()
    await watch.ended
  })
})
