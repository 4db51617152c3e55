import type { HostMailbox } from '../../hosts/host-mailbox.js'
import { ArbalestError } from '../../errors.js'

/** What a process does in a run over several: it trains, or it is a hub, which has no learners and makes the sums of all. */
export type HostRole = 'trains' | 'hub'

/** The first message of each process to all others. */
interface Introduction {
  readonly role: HostRole
  /** How many jobs the process has, each with a link of its own. */
  readonly jobs: number
}

/** The processes of a run. */
export interface HostRoles {
  /** By rank; the first one of the run is among them. */
  readonly trainers: readonly number[]
  readonly hubs: readonly number[]
  /** Of the first process. */
  readonly jobs: number
}

/** The processes tell each other what they do. Throws INVALID_OPTION unless the first one trains. */
export async function exchangeRoles(mailbox: HostMailbox, own: Introduction): Promise<HostRoles> {
  const { rank, others } = mailbox
  for (const other of others) mailbox.send(other, own)
  const told = new Map<number, Introduction>([[rank, own]])
  for (const other of others) told.set(other, (await mailbox.receive(other)) as Introduction)
  const ranks = [...told.keys()].sort((a, b) => a - b)
  const [trainers, hubs] = (['trains', 'hub'] as const).map((role) => ranks.filter((each) => told.get(each)!.role === role))
  if (trainers![0] === 0) return { trainers: trainers!, hubs: hubs!, jobs: told.get(0)!.jobs }
  const message = 'hub: received rank 0, which leads the run; start hubs last: mpirun -n 4 arbalest train ... : -n 1 arbalest hub'
  throw new ArbalestError('INVALID_OPTION', message, { data: { rank: 0, hubs } })
}
