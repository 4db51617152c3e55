import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import type { Worker } from 'node:worker_threads'
import type { Dataset } from '../../../src/data/dataset.js'
import type { FinishedEvent, LearnerLostEvent } from '../../../src/observe/events.js'
import type { TrainOptions } from '../../../src/options/train-options.js'
import { train } from '../../../src/run/train.js'
import type { Death } from '../../fakes/dying-learner.js'

const LEARNER = new URL('../../fakes/dying-learner.js', import.meta.url)
const MEBIBYTE = 2 ** 20

export interface KilledJob {
  readonly finished: FinishedEvent
  readonly lost: readonly LearnerLostEvent[]
}

/** Trains with two learners, of which one dies; `options` over small defaults. */
export async function killedJob(data: Dataset, death: Omit<Death, 'thread'>, options: Partial<TrainOptions> = {}): Promise<KilledJob> {
  const thread = new SharedArrayBuffer(4)
  using _small = death.how === 'heap' ? smallHeaps() : undefined
  using _killer = death.how === 'terminate' ? killer(thread) : undefined
  const job = train({
    model: 'logistic-regression',
    data,
    learners: 2,
    batch: 8,
    until: { steps: 150 },
    learner: LEARNER,
    learnerOptions: { ...death, thread } satisfies Death,
    // A heap is filled for a second where a machine is busy.
    supervision: { deadline: death.how === 'heap' ? 20_000 : 1000 },
    ...options
  })
  const lost: LearnerLostEvent[] = []
  job.on('learnerLost', (event) => void lost.push(event))
  return { finished: await job.finished, lost }
}

/** Threads started meanwhile get a small JavaScript heap. */
function smallHeaps(): Disposable {
  const whole = Math.round(getHeapStatistics().heap_size_limit / MEBIBYTE)
  setFlagsFromString('--max-old-space-size=32')
  return { [Symbol.dispose]: () => setFlagsFromString(`--max-old-space-size=${whole}`) }
}

/** Terminates the thread whose number appears in `thread`. */
function killer(thread: SharedArrayBuffer): Disposable {
  const workers: Worker[] = []
  const remember = (worker: Worker) => void workers.push(worker)
  process.on('worker', remember)
  const timer = setInterval(() => {
    const victim = workers.find(({ threadId }) => threadId > 0 && threadId === Atomics.load(new Int32Array(thread), 0))
    void victim?.terminate()
  }, 5)
  return {
    [Symbol.dispose]: () => {
      clearInterval(timer)
      process.off('worker', remember)
    }
  }
}
