/**
 * tenants-child SECONDS MODELS, on each host: two hosts train each of these models, as `mlp,lenet`, for SECONDS seconds; the last host is the hub of all of them. The
 * first host of each job tells its iterations a second.
 */
import { hub, train } from '../arbalest.js'
import { isFirstProcess, jobOfProcess, launchedProcess, TENANTS } from '../internals.js'

const [seconds = '', models = ''] = process.argv.slice(2)
const jobs = models.split(',')
/** The launcher passes on no variables of ours to other hosts. One job has the hub for itself. */
if (jobs.length > 1) process.env[TENANTS] = jobs.map(() => '2').join(',')

if (launchedProcess()!.rank === 2 * jobs.length) {
  await hub()
} else {
  const number = jobOfProcess() ?? 0
  const options = { data: 'digits', learners: 2, batch: 16, evaluateEvery: 1e9, seed: 1 + number } as const
  const job = train({ ...options, model: jobs[number]!, synchroniser: 'ssgd', until: { seconds: Number(seconds) } })
  const { iterations, seconds: taken } = await job.finished
  if (isFirstProcess()) process.stdout.write(`${JSON.stringify({ job: number, rate: iterations / taken })}\n`)
}
