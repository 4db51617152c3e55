/** blocked-host RANK FILE, on each host: trains, and blocks the JavaScript thread of one host for ten seconds. The first host writes what it saw. */
import { readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { joiningProcess } from '../../../../src/hosts/several-processes.js'
import { train } from '../../../../src/index.js'

const [blocked = '', file = ''] = process.argv.slice(2)
const { rank } = joiningProcess()!
const job = train({ model: 'mlp', data: 'digits', learners: 2, batch: 8, until: { seconds: 22 }, evaluateEvery: 1000 })

async function block(): Promise<void> {
  while ((await job.actors.synchroniser.ask.status()).round < 200) await sleep(100)
  const from = Date.now()
  while (Date.now() < from + 10_000);
  writeFileSync(`${file}.times`, JSON.stringify([from, Date.now()]))
}
if (rank === Number(blocked)) void block()

const seen: [time: number, iteration: number][] = []
for await (const event of job) if (event.event === 'progress') seen.push([Date.now(), event.iteration])
if (rank === 0) {
  const [from, until] = JSON.parse(readFileSync(`${file}.times`, 'utf8')) as [number, number]
  // A blocked thread reports what the learners did meanwhile as soon as it can.
  const before = seen.findLast(([time]) => time <= from)![1]
  const after = seen.find(([time]) => time >= until)![1]
  const iterations = seen.at(-1)![1]
  writeFileSync(file, JSON.stringify({ before, after, iterations }))
}
