import type { JobEvent } from '../../src/observe/events.js'
import type { Job } from '../../src/run/job.js'

/** All events of a job, when it has ended. Rejects as the job does. */
export async function eventsOf(job: Job): Promise<JobEvent[]> {
  const events: JobEvent[] = []
  for await (const event of job) events.push(event)
  return events
}
