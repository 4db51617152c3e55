import type { FinishedEvent, JobEvent } from '../../../../src/observe/events.js'
import type { TrainOptions } from '../../../../src/options/train-options.js'
import type { Job } from '../../../../src/run/job.js'
import { trainWith } from '../../../../src/run/train.js'

export const SHORT: TrainOptions = {
  model: 'mlp',
  data: 'digits',
  learners: 4,
  batch: 8,
  seed: 5,
  until: { steps: 30 },
  evaluateEvery: 0.05
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
export function together(options: TrainOptions, { size = 2, other = {}, learner, engine, shrinks = false }: Hosts = {}): Job[] {
  const name = `training ${process.pid} ${runs++}`
  return Array.from({ length: size }, (_, rank) => {
    const isLast = rank === size - 1
    const hosts = { kind: 'threads', name, rank, size, shrinks, deadline: 20 } as const
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
