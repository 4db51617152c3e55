import { readFileSync, writeFileSync } from 'node:fs'
import { train, type TrainOptions } from '../../../src/index.js'

/** Run as a process of its own, with options as JSON: prints the most memory that the process has, from before its run on, and how much of that the engine has counted. */
const options = JSON.parse(process.argv[2]!) as TrainOptions

// From here on the most is counted anew.
writeFileSync('/proc/self/clear_refs', '5')
const { weightsSha256, peakDeviceBytes } = await train(options).finished
process.stdout.write(JSON.stringify({ most: mostResident(), counted: peakDeviceBytes, weightsSha256 }))

function mostResident(): number {
  const [, kilobytes = ''] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8')) ?? []
  return 1024 * Number(kilobytes)
}
