/**
 * tenants-child SECONDS MODELS [WRONG], on each host: two hosts train each of these models, as `mlp,lenet`, for SECONDS seconds; the last host is the hub of all of them. The
 * first host of each job tells its iterations a second, and the hub what it refused. With WRONG, the second host of the first job sends WRONG messages that are wrong to the hub
 * before each of its own.
 */
import { hub, train, type TrainOptions } from '../arbalest.js'
import { isFirstProcess, launchedProcess, tenancyOf, TENANTS, trainWith } from '../internals.js'

const [seconds = '', models = '', wrong = '0'] = process.argv.slice(2)
const jobs = models.split(',')
/** The launcher passes on no variables of ours to other hosts. One job has the hub for itself. */
if (jobs.length > 1) process.env[TENANTS] = jobs.map(() => '2').join(',')
/** More than a run sends. */
const NO_END = 2 ** 30
const say = (line: object) => process.stdout.write(`${JSON.stringify(line)}\n`)

if (launchedProcess()!.rank === 2 * jobs.length) {
  await hub({ onServed: say })
} else {
  const tenancy = tenancyOf()
  const job = tenancy?.own ?? 0
  const options: TrainOptions = {
    model: jobs[job]!,
    data: 'digits',
    learners: 2,
    batch: 16,
    synchroniser: 'ssgd',
    until: { seconds: Number(seconds) },
    evaluateEvery: 1e9,
    seed: 1 + job
  }
  const forgesAtOnce = job === 0 && !isFirstProcess() ? Number(wrong) : 0
  const training =
    forgesAtOnce > 0
      ? trainWith(options, {
          hosts: { kind: 'mpi', links: [tenancy!.hostsOf[0]!], sealed: true, deadline: 60, forges: NO_END, forgesAtOnce }
        })
      : train(options)
  const { iterations, seconds: taken } = await training.finished
  if (isFirstProcess()) say({ job, rate: iterations / taken })
}
