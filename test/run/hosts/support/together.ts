import { openDataset } from '../../../../src/data/open.js'
import type { Engine, HostsSpec } from '../../../../src/engine/contract.js'
import { engine as native } from '../../../../src/engine/native.js'
import type { FinishedEvent, JobEvent } from '../../../../src/observe/events.js'
import type { TrainOptions } from '../../../../src/options/train-options.js'
import type { Job } from '../../../../src/run/job.js'
import type { ServedEvent } from '../../../../src/run/hosts/hub-options.js'
import { serveHub, serveJobs } from '../../../../src/run/hosts/serve-hub.js'
import { trainWith } from '../../../../src/run/train.js'

/** Drawing all digits would take longer than training. */
const data = await openDataset('digits', { samples: 2000 })

export const SHORT: TrainOptions = {
  model: 'mlp',
  data,
  learners: 4,
  batch: 8,
  seed: 5,
  until: { steps: 30 },
  evaluateEvery: 0.15
}

let runs = 0

interface Hosts {
  readonly size?: number
  /** Options of the last host that the others do not have, its learners, and its engine. */
  readonly other?: Partial<TrainOptions>
  readonly learner?: URL
  readonly engine?: URL
  /** The others go on after the loss of a host. */
  readonly shrinks?: boolean
}

/** A run over hosts that are threads of this process. */
export function together(options: TrainOptions, { size = 2, shrinks = false, ...last }: Hosts = {}): Job[] {
  return trainers(options, specs(size, shrinks), last)
}

/** The same with hubs behind the hosts that train; these hubs have an engine of their own, and may be asked to `stop`. */
export function withHubs(
  options: TrainOptions,
  {
    size = 2,
    hubs = 1,
    shrinks = false,
    hubEngine = native,
    stop,
    ...last
  }: Hosts & { readonly hubs?: number; readonly hubEngine?: Engine; readonly stop?: AbortSignal } = {}
): { readonly jobs: Job[]; readonly hubs: readonly Promise<void>[] } {
  const all = specs(size + hubs, shrinks)
  const serving = all.slice(size).map((spec) => serveHub(hubEngine, spec, stop))
  for (const each of serving) each.catch(() => {})
  return { jobs: trainers(options, all.slice(0, size), last), hubs: serving }
}

/** Jobs of two hosts each, which share a hub. `forges`: the last host of the first job sends so many wrong messages to the hub, or, if it `floods`, so many that nobody expects. */
export function sharing(
  jobs: readonly TrainOptions[],
  { forges = 0, floods = false, engine }: { readonly forges?: number; readonly floods?: boolean; readonly engine?: URL } = {}
): { readonly jobs: readonly (readonly Job[])[]; readonly hub: Promise<void>; readonly served: readonly ServedEvent[] } {
  const all = jobs.map(() => specs(3, false).map((spec): HostsSpec => ({ ...spec, sealed: true })))
  const served: ServedEvent[] = []
  const ofHub = all.map((each) => each[2]!)
  const hub = serveJobs(native, ofHub, { onServed: (event) => served.push(event) })
  hub.catch(() => {})
  const trained = jobs.map((options, job) => {
    const [first, last] = all[job]!
    const isFirst = job === 0
    return trainers(options, [first!, { ...last!, ...(isFirst && { forges, floods }) }], isFirst && engine ? { engine } : {})
  })
  return { jobs: trained, hub, served }
}

function specs(size: number, shrinks: boolean): readonly HostsSpec[] {
  const name = `training ${process.pid} ${runs++}`
  return Array.from({ length: size }, (_, rank) => ({ kind: 'threads', name, rank, size, shrinks, deadline: 20 }))
}

function trainers(
  options: TrainOptions,
  all: readonly HostsSpec[],
  { other = {}, learner, engine }: Pick<Hosts, 'other' | 'learner' | 'engine'>
): Job[] {
  return all.map((hosts, rank) => {
    const isLast = rank === all.length - 1
    return trainWith(isLast ? { ...options, ...other } : options, {
      hosts,
      ...(isLast && learner && { learner }),
      ...(isLast && engine && { engine })
    })
  })
}

export async function ends(jobs: readonly Job[]): Promise<FinishedEvent[]> {
  return Promise.all(jobs.map(({ finished }) => finished))
}

export async function alone(options: TrainOptions): Promise<FinishedEvent> {
  return trainWith(options, {}).finished
}

export async function eventsOf(job: Job): Promise<JobEvent[]> {
  const events: JobEvent[] = []
  for await (const event of job) events.push(event)
  return events
}
