import { mkdtemp, rm } from 'node:fs/promises'
import { readdirSync, readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { datasetFromArrays, train, type TrainOptions } from '../../../src/index.js'

/**
 * Runs the given number of short jobs one after the other, of all kinds and ends, and says as a line of JSON every so often what the process holds.
 * To be run with --expose-gc.
 */
const [count = 100, period = 20] = process.argv.slice(2).map(Number)

/** What a process holds between two jobs. */
export interface Holding {
  readonly jobs: number
  readonly rss: number
  readonly heap: number
  readonly threads: number
  readonly descriptors: number
  readonly resources: number
}

const numbers = Float32Array.from({ length: 4 * 64 }, (_, i) => i % 3)
const labels = Int32Array.from({ length: 64 }, (_, i) => i % 2)
const data = datasetFromArrays({ name: 'tiny', sample: [4], classes: 2, samples: numbers, labels, test: { samples: numbers, labels } })
const folder = await mkdtemp(join(tmpdir(), 'arbalest many jobs '))

const KINDS: readonly ((job: number) => Promise<unknown>)[] = [
  () => start({}).finished,
  () => start({ learners: 2, synchroniser: 'ssgd' }).finished,
  () => stopped(),
  (job) => start({ checkpoint: join(folder, `${Math.floor(job / 10)}`), until: { steps: 4 + (job % 10) } }).finished,
  () => start({ onEvaluated: () => Promise.reject(new Error('as planned')) }).finished.catch(() => {}),
  () => predicted()
]

function start(options: Partial<TrainOptions>) {
  return train({ model: 'logistic-regression', data, learners: 1, batch: 8, until: { steps: 4 }, ...options })
}

async function stopped(): Promise<void> {
  const job = start({ until: { steps: 1_000_000 } })
  job.once('started', () => job.stop())
  await job.finished
}

async function predicted(): Promise<void> {
  await using job = start({ log: join(folder, 'log.jsonl') })
  await job.model.predict(numbers.subarray(0, 4))
}

async function holding(jobs: number): Promise<Holding> {
  // What is forgotten is freed by finalisers, which run after a collection.
  for (let turn = 0; turn < 3; turn++) {
    globalThis.gc!()
    await sleep(50)
  }
  const { rss, heapUsed: heap } = process.memoryUsage()
  const threads = Number(/^Threads:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))![1])
  const descriptors = readdirSync('/proc/self/fd').length
  return { jobs, rss, heap, threads, descriptors, resources: process.getActiveResourcesInfo().length }
}

try {
  for (let job = 0; job < count; job++) {
    await KINDS[job % KINDS.length]!(job)
    if ((job + 1) % period === 0) process.stdout.write(`${JSON.stringify(await holding(job + 1))}\n`)
  }
} finally {
  await rm(folder, { recursive: true })
}
