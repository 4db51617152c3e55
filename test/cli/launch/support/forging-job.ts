// A process of a job that shares its hub, as `arbalest train` starts it, but for the wrong messages that it sends to the hub.
import { tenancyOf } from '../../../../src/hosts/tenants.js'
import { trainWith } from '../../../../src/run/train.js'

const [steps, forges] = process.argv.slice(2).map(Number) as [number, number]
const { hostsOf, own, isFirst } = tenancyOf()!
const job = trainWith(
  { model: 'lenet', learners: 2, batch: 8, seed: 3, synchroniser: 'ssgd', until: { steps } },
  { hosts: { kind: 'mpi', links: [hostsOf[own!]!], sealed: true, deadline: 60, ...(!isFirst && { forges }) } }
)
const finished = await job.finished
if (isFirst) process.stdout.write(`${JSON.stringify({ job: own, ...finished })}\n`)
