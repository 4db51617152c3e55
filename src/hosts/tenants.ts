import { invalidOption } from '../errors.js'
import { launchedProcess, type LaunchedProcess } from './launcher.js'

/** Jobs that share their hubs, each with processes of its own. */
export interface Tenancy {
  /** The ranks of the hosts of each job: its own processes, and then the hubs. */
  readonly hostsOf: readonly (readonly number[])[]
  /** The number of this process's job; undefined in a hub. */
  readonly own: number | undefined
  /** Whether this process is the first of its job. */
  readonly isFirst: boolean
}

type Environment = Readonly<Record<string, string | undefined>>

/** The variable that says how many processes each of the jobs has, in the order of ranks, such as `2,3`. The processes after them are the hubs. */
export const TENANTS = 'ARBALEST_TENANTS'

/** The jobs among the processes of a launcher; undefined if all of them train together. Throws INVALID_OPTION. */
export function tenancyOf(launched: LaunchedProcess | undefined = launchedProcess(), env: Environment = process.env): Tenancy | undefined {
  const given = env[TENANTS]
  if (given === undefined || launched === undefined) return undefined
  const { rank, size } = launched
  if (!/^[1-9]\d*(,[1-9]\d*)*$/.test(given)) throw invalidOption(TENANTS, given, 'give the processes of each job, such as 2,3')
  const processes = given.split(',').map(Number)
  const training = processes.reduce((sum, each) => sum + each, 0)
  if (training >= size) throw invalidOption(TENANTS, given, `give fewer: of ${size} processes one at least has to be the hub of these jobs`)
  const ranks = (from: number, count: number) => Array.from({ length: count }, (_, i) => from + i)
  const hubs = ranks(training, size - training)
  let first = 0
  const own = processes.map((count) => ranks((first += count) - count, count))
  const job = own.findIndex((each) => each.includes(rank))
  return {
    hostsOf: own.map((each) => [...each, ...hubs]),
    own: job < 0 ? undefined : job,
    isFirst: own.some(([leading]) => leading === rank)
  }
}

/** Whether this process is the one of its job that speaks on stdout. */
export function isFirstProcess(env: Environment = process.env): boolean {
  const launched = launchedProcess(env)
  return wellFormed(launched, env)?.isFirst ?? (launched?.rank ?? 0) === 0
}

/** The number of this process's job, where several write to one terminal; otherwise undefined. */
export function jobOfProcess(env: Environment = process.env): number | undefined {
  return wellFormed(launchedProcess(env), env)?.own
}

/** A variable that is wrong is told by the run itself, as an error of its own. */
function wellFormed(launched: LaunchedProcess | undefined, env: Environment): Tenancy | undefined {
  try {
    return tenancyOf(launched, env)
  } catch {
    return undefined
  }
}
