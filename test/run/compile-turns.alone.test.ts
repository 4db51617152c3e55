import { join } from 'node:path'
import { expect } from 'chai'
import {
  datasetFromArrays,
  defineModel,
  explain,
  linear,
  loadModel,
  relu,
  train,
  type FinishedEvent,
  type Job,
  type Model
} from '../../src/index.js'
import { Folder } from '../data/support/files.js'
import { randomTrainedModel } from '../formats/support/random-weights.js'
import { refused } from '../support/codes.js'

/** So many layers that compiling them takes a second or more. */
const LAYERS = 2000
/**
 * Milliseconds for which a turn may hold up a signal or a stop; compiling the whole model takes a second or more. On a slow processor each turn takes longer,
 * as the whole does, of which a turn may take this share there.
 */
const LONGEST_TURN = 200
const LONGEST_SHARE = 1 / 4

function deepModel(count = LAYERS): Model {
  const layers = [...Array.from({ length: count / 2 }, () => [linear(4), relu()]).flat(), linear(2)]
  return defineModel({ name: 'deep', input: [4], layers })
}

function start(count = LAYERS): Job {
  const samples = Float32Array.from({ length: 40 }, (_, i) => i / 40)
  return train({
    model: deepModel(count),
    data: datasetFromArrays({ sample: [4], classes: 2, samples, labels: Array.from({ length: 10 }, (_, i) => i % 2) }),
    learners: 1,
    batch: 2,
    until: { steps: 1 }
  })
}

/**
 * The greatest delay of a timer until `promise` is settled, over what a turn may take, without time in which other processes had the processor. Calls `turn` with
 * the number of each turn.
 */
async function longestTurn(promise: Promise<unknown>, turn: (count: number) => void = () => {}): Promise<number> {
  let [turns, delay] = [0, 0]
  const begin = performance.now()
  let [last, used] = [begin, process.cpuUsage()]
  const measure = () => {
    const { user, system } = process.cpuUsage(used)
    delay = Math.max(delay, Math.min(performance.now() - last, (user + system) / 1000))
    ;[last, used] = [performance.now(), process.cpuUsage()]
  }
  const timer = setInterval(() => {
    measure()
    turn(++turns)
  }, 5)
  await promise.finally(() => clearInterval(timer))
  // The work that settled the promise may have kept the timer from its last turn.
  measure()
  return delay / Math.max(LONGEST_TURN, (performance.now() - begin) * LONGEST_SHARE)
}

/** The least of some results: another process may hold up this one. */
async function leastOf(tries: number, enough: number, attempt: () => Promise<number>): Promise<number> {
  let least = Infinity
  for (let i = 0; i < tries && least > enough; i++) least = Math.min(least, await attempt())
  return least
}

describe('A model of many layers', function () {
  this.timeout(60_000)
  // Loads all modules.
  before(() => start(2).finished)

  it('is compiled in turns with timers', async () => {
    const longest = await leastOf(3, 1, async () => {
      const job = start()
      const started = new Promise<void>((resolve) => job.once('started', () => resolve()))
      const greatest = await longestTurn(started)
      await job[Symbol.asyncDispose]()
      return greatest
    })
    expect(longest, 'of what a turn may take').to.be.below(1)
  })

  it('is explained in turns with timers', async () => {
    // The search for the least memory that a run can take lasts seconds with a quarter of the layers.
    const options = { model: deepModel(LAYERS / 4), batch: 2, flopsPerSecond: 1e9, bytesPerSecond: 1e9 }
    const longest = await leastOf(3, 1, () => longestTurn(explain(options)))
    expect(longest, 'of what a turn may take').to.be.below(1)
  })

  it('is loaded in turns with timers', async () => {
    await using folder = await Folder.make()
    const file = join(folder.path, 'deep.safetensors')
    await randomTrainedModel(deepModel(3 * LAYERS)).save(file)
    const longest = await leastOf(3, 1, () => longestTurn(loadModel(file)))
    expect(longest, 'of what a turn may take').to.be.below(1)
  })

  it('is given up at once when its run is stopped, which is then over as a stopped one', async () => {
    // A fast processor compiles so many layers in 30 turns or more, and then starts the run, which is stopped in another way.
    const job = start(3 * LAYERS)
    let stopped = 0
    const stop = (turns: number) => {
      if (turns !== 6) return
      stopped = performance.now()
      job.stop()
    }
    await longestTurn(job.finished, stop)
    expect(performance.now() - stopped, 'milliseconds').to.be.below(1000)
    const finished: FinishedEvent = await job.finished
    expect(finished).to.include({ reason: 'stopped', iterations: 0, testAccuracy: null, weightsSha256: '' })
    await refused('INVALID_STATE', () => job.model.predict(new Float32Array(4)), 'stopped while it was being prepared')
  })
})
