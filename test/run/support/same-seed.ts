import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { train, type TrainOptions } from '../../../src/index.js'

/** Keeps a processor busy, so that learners are scheduled otherwise than in the run before. */
async function busyNeighbour(): Promise<Worker> {
  const worker = new Worker(`require('node:worker_threads').parentPort.postMessage('busy'); for (;;) ;`, { eval: true })
  await once(worker, 'message')
  return worker
}

/** The hash of the weights of each of so many runs with the machine to itself, then of as many beside a busy neighbour. */
export async function hashesOf(options: TrainOptions, runs: number): Promise<string[]> {
  const hashes: string[] = []
  for (let i = 0; i < runs; i++) hashes.push((await train(options).finished).weightsSha256)
  const neighbour = await busyNeighbour()
  try {
    for (let i = 0; i < runs; i++) hashes.push((await train(options).finished).weightsSha256)
  } finally {
    await neighbour.terminate()
  }
  return hashes
}
