import { readFileSync, writeFileSync } from 'node:fs'
import { explain, train, type TrainOptions } from '../../../src/index.js'

/**
 * Run as a process of its own: prints by how many bytes the most memory that the process has while it trains exceeds the most that it has while a tiny model
 * trains on the same data and the step is compiled. Options as JSON.
 */
const options = JSON.parse(process.argv[2]!) as TrainOptions & { readonly model: string }
const { model, batch = 64, data, spill } = options

await explain({ model, batch, deviceMemory: '99%', input: [1, 28, 28], classes: 10, ...(spill !== undefined && { spill }) })
await train({ model: 'logistic-regression', batch, ...(data !== undefined && { data }), learners: 1, until: { steps: 3 } }).finished
const before = mostResident()
// From here on the most is counted anew.
writeFileSync('/proc/self/clear_refs', '5')
const { weightsSha256 } = await train(options).finished
process.stdout.write(`${JSON.stringify({ beyond: mostResident() - before, weightsSha256 })}\n`)

function mostResident(): number {
  const [, kilobytes = ''] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return 1024 * Number(kilobytes)
}
