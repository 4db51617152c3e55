import { resolve } from 'node:path'
import { ArbalestError, faultsOf, invalidOption, together } from '../errors.js'
import { Faults } from '../schema/faults.js'
import { group, option, type GivenOptions, type ToldByName } from '../schema/group.js'
import { realFromText } from '../schema/from-text.js'
import { list, oneOf, real } from '../schema/values.js'
import { dashboardOption, type DashboardOptions } from './records.js'
import { isAsynchronous } from './synchroniser.js'
import { settingsOf, type Settings } from './settings.js'
import type { TrainOptions } from './train-options.js'

const POLICIES = ['auto', 'sequential', 'shared', 'crossed'] as const

/** How jobs share their device: one after the other, all at once, in turns, or whatever is measured to be fastest. */
export type Policy = 'auto' | 'sequential' | 'shared' | 'crossed'

export const crossoverOptions = group({
  /** `auto` measures all policies while the jobs train and keeps the fastest. */
  policy: option(oneOf(POLICIES), {
    text: 'auto (measured), sequential (one job after the other), shared (all at once) or crossed (in turns)',
    flag: '--policy <name>',
    default: 'auto'
  }),
  /** The share of each job in the device's time, when they take turns; equal if omitted. */
  share: option(list(real({ above: 0, max: 1e6 }), 'a number above 0 for each job', { min: 2 }), {
    text: 'the share of each job in the time of the device, as 2:1',
    flag: '--share <numbers>',
    fromText: (given, refuse) => given.split(':').map((share) => realFromText(share, refuse)),
    otherwise: 'equal'
  }),
  /** Serves a page on 127.0.0.1 that shows all jobs, and who holds the device; `dashboard` of the result has its address. `true`, or its port. */
  dashboard: dashboardOption
})

/** How several jobs share their device. */
export interface CrossoverOptions extends GivenOptions<typeof crossoverOptions>, ToldByName {}

export interface CrossoverSettings {
  readonly policy: Policy
  readonly shares: readonly number[]
  readonly dashboard: boolean | DashboardOptions
}

/** The settings of each job. Throws INVALID_OPTION and UNKNOWN_NAME with the faults of all jobs, such as that of `jobs[1].batch`. */
export function settingsOfJobs(jobs: readonly TrainOptions[]): Settings[] {
  if (!Array.isArray(jobs)) throw invalidOption('jobs', jobs, 'give a list with the options of each job')
  const faults = new Faults()
  const settings = jobs.map((job, i) => faults.attempt(() => settingsOfJob(job, `jobs[${i}]`)))
  faults.throwAny()
  return settings as Settings[]
}

function settingsOfJob(job: TrainOptions, name: string): Settings {
  try {
    return settingsOf(job)
  } catch (error) {
    if (!(error instanceof ArbalestError)) throw error
    const placed = faultsOf(error).map(({ path, received, fix }) =>
      invalidOption(path === 'options' ? name : `${name}.${path}`, received, fix)
    )
    const [first, ...others] = placed
    if (!first) throw error
    const { message, data } = together([first, ...others])
    throw new ArbalestError(error.code, message, { cause: error, data: { ...error.data, ...data } })
  }
}

/** The fix for a job under an asynchronous rule. */
export const USE_SYNCHRONOUS = 'use a synchronous one: learners that never wait leave no time to another job'

/** Throws INVALID_OPTION for jobs that cannot share a device. */
export function crossoverSettings(given: CrossoverOptions, jobs: readonly Settings[]): CrossoverSettings {
  if (jobs.length < 2) throw invalidOption('jobs', jobs.length, 'give two or more')
  const faults = new Faults()
  const { policy, share, dashboard = false } = faults.checked(crossoverOptions, given)
  faults.throwAny()
  if (share && share.length !== jobs.length) throw invalidOption('share', share.length, `give a number for each of the ${jobs.length} jobs`)
  for (const [i, { synchroniser, backend, devices, dashboard: own = false }] of jobs.entries()) {
    const name = `jobs[${i}]`
    if (dashboard !== false && own !== false)
      throw invalidOption(`${name}.dashboard`, own, 'omit it: the page of all jobs shows this one, too')
    if (isAsynchronous(synchroniser)) throw invalidOption(`${name}.synchroniser`, synchroniser.name, USE_SYNCHRONOUS)
    if (backend !== jobs[0]!.backend) throw invalidOption(`${name}.backend`, backend, `use ${jobs[0]!.backend}, as the first job does`)
    if (devices.hosts !== jobs[0]!.devices.hosts)
      throw invalidOption(`${name}.hosts`, devices.hosts, `use ${jobs[0]!.devices.hosts}, as the first job does`)
    if (devices.link !== jobs[0]!.devices.link) throw invalidOption(`${name}.link`, devices.link, 'use one link for all jobs')
  }
  refuseSharedPlaces(jobs)
  return { policy, shares: share ?? jobs.map(() => 1), dashboard }
}

/** Refuses two jobs that would write over each other's trace, or into one folder of checkpoints. A log may have several runs. */
function refuseSharedPlaces(jobs: readonly Settings[]): void {
  const seen = new Map<string, number>()
  for (const [i, { checkpoint, trace }] of jobs.entries())
    for (const [name, path] of Object.entries({ 'checkpoint.dir': checkpoint?.dir, 'trace.file': trace?.file })) {
      if (path === undefined) continue
      const other = seen.get(resolve(path))
      if (other !== undefined) throw invalidOption(`jobs[${i}].${name}`, path, `use another: jobs[${other}] writes there`)
      seen.set(resolve(path), i)
    }
}
