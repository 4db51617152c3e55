// node child.js TARGET FIRST COUNT PLACE: runs inputs FIRST to FIRST + COUNT - 1. The file PLACE always has the number of the input that is running, which
// is thus known if the process dies. The last line of the output is a Report as JSON.
import { openSync, readFileSync, writeSync } from 'node:fs'
import { dirname } from 'node:path'
import { ArbalestError } from '../../../src/errors.js'
import { targets } from '../targets/index.js'
import { Choice } from './choice.js'
import type { Report } from './inputs.js'

const [name, first, count, place] = process.argv.slice(2) as [string, string, string, string]
const run = await targets[name]!(dirname(place))
const file = openSync(place, 'w')
writeSync(file, 'before the first')
const codes: Record<string, number> = {}
const wrong: Report['wrong'] = []
const until = Number(first) + Number(count)
let worked = 0

for (let seed = Number(first); seed < until && wrong.length < 5; seed++) {
  writeSync(file, String(seed).padEnd(20), 0)
  try {
    await run(new Choice(seed))
    worked++
  } catch (error) {
    const code = error instanceof ArbalestError ? error.code : undefined
    if (code === undefined || code === 'INTERNAL') wrong.push({ seed, error: error instanceof Error ? (error.stack ?? '') : String(error) })
    else codes[code] = (codes[code] ?? 0) + 1
  }
}
const report: Report = { worked, codes, wrong, bytes: mostBytes() }
console.log(JSON.stringify(report))

/** The peak memory of this process. That of getrusage includes the parent's memory at the fork. */
function mostBytes(): number {
  return Number(/^VmHWM:\s*(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))![1]) * 1024
}
