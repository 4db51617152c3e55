/** A process whose run is sent messages from several threads, and saved again and again, until somebody ends it: `node chattering-process.js FOLDER SEED`. */
import { train } from '../../src/run/train.js'
import { disturb, endlessOptions } from '../run/support/messaged-run.js'

const [dir, seed] = process.argv.slice(2) as [string, string]
const job = train({ ...(await endlessOptions()), checkpoint: { dir, keep: 2, period: 40 } })
job.on('intervened', ({ intervention }) => void process.stdout.write(`${intervention.kind}\n`))
job.on('checkpoint', ({ folder }) => void (folder && process.stdout.write('checkpoint\n')))
await disturb(job, 1_000_000, { seed: Number(seed) })
