import { readFileSync, writeFileSync } from 'node:fs'
import { explain, train, type TrainOptions } from '../../../src/index.js'

/**
 * Run as a process of its own: prints by how many bytes the most memory that the process has while it trains exceeds what the process takes in any case, apart
 * from the device's memory: while the step is compiled within the same limit, and while a few samples train the same model. Options as JSON.
 */
const options = JSON.parse(process.argv[2]!) as TrainOptions & { readonly model: string }
const { model, batch = 64, spill, deviceMemory = '99%' } = options

await explain({ model, batch, deviceMemory, learners: 1, input: [1, 28, 28], classes: 10, ...(spill !== undefined && { spill }) })
const { spill: _, deviceMemory: __, ...unlimited } = options
const few = await train({ ...unlimited, batch: 4 }).finished
const before = mostResident() - few.peakDeviceBytes
// From here on the most is counted anew.
writeFileSync('/proc/self/clear_refs', '5')
const { weightsSha256 } = await train(options).finished
process.stdout.write(`${JSON.stringify({ beyond: mostResident() - before, weightsSha256 })}\n`)

function mostResident(): number {
  const [, kilobytes = ''] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return 1024 * Number(kilobytes)
}
