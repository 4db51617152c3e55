import { readFileSync, writeFileSync } from 'node:fs'
import { parameterCount } from '../../../src/model/graph-builder.js'
import { gpt } from '../../../src/model/zoo/index.js'
import { train, type TrainOptions } from '../../../src/index.js'
import { floorOf } from './limited-run.js'
import { datasetFromText } from '../../../src/data/datasets.js'

/**
 * Run as a process of its own with a folder: trains a small gpt, and then a large one at the least memory, most of whose vectors lie in that folder. Prints by how many
 * bytes the process exceeds what it took for the small one, beside the limit and the bytes of a vector.
 */
const data = await datasetFromText({ text: 'jack and jill went up the hill to fetch a pail of water. '.repeat(30), context: 16 })
const [large, small] = [256, 32].map((width) => gpt({ input: data.sample, classes: data.classes }, { layers: 9, heads: 4, width }))
const options: TrainOptions = {
  model: large!,
  data,
  batch: 2,
  learners: 1,
  threads: 1,
  optimiser: { name: 'adamw', learningRate: 0.001, milestones: [] },
  until: { steps: 2 },
  seed: 3,
  spill: process.argv[2]!
}
const deviceMemory = await floorOf(options)
await train({ ...options, model: small! }).finished
const before = resident('VmRSS')
// From here on the most is counted anew.
writeFileSync('/proc/self/clear_refs', '5')
await train({ ...options, deviceMemory }).finished
const beyond = resident('VmHWM') - before
process.stdout.write(JSON.stringify({ beyond, deviceMemory, vector: 4 * parameterCount(large!) }))

function resident(which: 'VmRSS' | 'VmHWM'): number {
  const [, kilobytes = ''] = new RegExp(`^${which}:\\s+(\\d+) kB$`, 'm').exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return 1024 * Number(kilobytes)
}
