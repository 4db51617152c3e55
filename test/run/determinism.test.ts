import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect } from 'chai'
import { openDataset, train, type Dataset, type TrainOptions } from '../../src/index.js'

/** Keeps a processor busy, so that learners are scheduled otherwise than in the run before. */
async function busyNeighbour(): Promise<Worker> {
  const worker = new Worker(`require('node:worker_threads').parentPort.postMessage('busy'); for (;;) ;`, { eval: true })
  await once(worker, 'message')
  return worker
}

async function hashOf(options: TrainOptions): Promise<string> {
  return (await train(options).finished).weightsSha256
}

describe('the same seed', () => {
  let data: Dataset
  before(async () => {
    data = await openDataset('digits', { samples: 1000 })
  })

  for (const learners of [1, 2, 3])
    it(`gives the same weights ten times with ${learners} learners, five of them beside a busy neighbour`, async () => {
      const run = (): Promise<string> => hashOf({ model: 'lenet', data, batch: 8, learners, seed: 42, until: { steps: 30 } })
      const hashes: string[] = []
      for (let i = 0; i < 5; i++) hashes.push(await run())
      const neighbour = await busyNeighbour()
      try {
        for (let i = 0; i < 5; i++) hashes.push(await run())
      } finally {
        await neighbour.terminate()
      }
      expect(new Set(hashes)).to.have.property('size', 1)
      expect(await hashOf({ model: 'lenet', data, batch: 8, learners, seed: 43, until: { steps: 30 } })).to.not.equal(hashes[0])
    })

  const others: Record<string, Partial<TrainOptions>> = {
    'gradients in buckets': { synchroniser: 'ssgd' },
    'gradients whose norm is needed first': { synchroniser: 'ssgd', optimiser: { name: 'lars', clipNorm: 1 } },
    'an outer step': { synchroniser: { name: 'diloco', period: 3 }, optimiser: 'adamw' },
    'a mean over rounds': { synchroniser: 'polyak-ruppert', average: 'ema' }
  }
  for (const [what, options] of Object.entries(others))
    it(`gives the same weights with ${what}, beside a busy neighbour too`, async () => {
      const run = (): Promise<string> => hashOf({ model: 'lenet', data, batch: 8, learners: 3, seed: 42, until: { steps: 30 }, ...options })
      const hashes = [await run(), await run()]
      const neighbour = await busyNeighbour()
      try {
        for (let i = 0; i < 2; i++) hashes.push(await run())
      } finally {
        await neighbour.terminate()
      }
      expect(new Set(hashes)).to.have.property('size', 1)
    })
})
