import { readFileSync, writeFileSync } from 'node:fs'
import { explain, train, type TrainOptions } from '../../../src/index.js'

/**
 * Run as a process of its own: prints the most memory that the process has while it trains, and how much of that the engine has counted. Before, the step is compiled within `planned`, since
 * JavaScript keeps what its search took: so a run without a limit has that too. Two options as JSON.
 */
interface Planned {
  readonly deviceMemory: number
  readonly spill?: string
}

const [options, planned] = process.argv.slice(2).map((each) => JSON.parse(each) as unknown) as [TrainOptions & { model: string }, Planned]
const { model, batch = 64 } = options

await explain({ model, batch, ...planned, learners: 1, input: [1, 28, 28], classes: 10 })
// From here on the most is counted anew.
writeFileSync('/proc/self/clear_refs', '5')
const { weightsSha256, peakDeviceBytes } = await train(options).finished
process.stdout.write(JSON.stringify({ most: mostResident(), counted: peakDeviceBytes, weightsSha256 }))

function mostResident(): number {
  const [, kilobytes = ''] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return 1024 * Number(kilobytes)
}
