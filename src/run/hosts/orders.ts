import type { GroupSchedule } from '../../actors/group-control.js'
import type { RunState } from '../../checkpoints/run-state.js'
import type { GroupSpec, RuleChange, RulePlace, SumOrder } from '../../engine/contract.js'
import type { ErrorCode } from '../../errors.js'
import type { FinishedEvent, LearnerLostEvent, LoggedEvent, SampleSkippedEvent, WarningEvent } from '../../observe/events.js'
import type { Intervention } from '../../schedules/interventions.js'
import type { PopulationSchedule } from '../../schedules/population.js'
import type { Hello } from './hello.js'
import type { HostAnswer, HostCall } from './host-calls.js'

/**
 * What the first host tells the others. They obey one order after another; an order that trains is done when their learners rest again.
 *
 * - `prepare`: their options are equal as far as they are known before the data is opened.
 * - `begin`: all hosts agree in what they are about to train, and `population` is that of all. If the run goes on from a checkpoint, the bytes of its files follow
 *   as messages: that of the group, then those of the learners in the places that are named.
 * - `serve`: to hubs alone: they make their part of the group. The first central model follows as a message, then the vectors of the checkpoint that are named.
 * - `gather`: the learners that have joined begin their first step, and rest in it.
 * - `resized`: so many learners train on all hosts from now on.
 * - `lost`: this host is lost; places are dealt out among the others.
 * - `capture`: asks for the report `captured`, with these vectors of the group's snapshot.
 * - `again`: the loss was not finite; the run begins again with lower rates.
 * - `end`: the run is over, with this event; `fail`: with this error.
 */
export type Order =
  | { readonly order: 'prepare' }
  | {
      readonly order: 'begin'
      /** The name of the first host's machine. */
      readonly host: string
      readonly population: PopulationSchedule
      readonly resumes?: { readonly folder: string; readonly state: RunState; readonly places: readonly number[] }
    }
  | {
      readonly order: 'serve'
      readonly group: ServedGroup
      readonly ruleAt: RulePlace
      readonly sumOrder: SumOrder
      readonly schedule: GroupSchedule
      readonly resumes?: { readonly counts: Readonly<Record<string, number>>; readonly vectors: readonly string[] }
    }
  | { readonly order: 'follow'; readonly schedule: GroupSchedule }
  | { readonly order: 'changeRule'; readonly change: RuleChange }
  | { readonly order: 'train'; readonly until: number }
  | { readonly order: 'gather' }
  | { readonly order: 'resized'; readonly learners: number }
  | { readonly order: 'lost'; readonly rank: number }
  | { readonly order: 'replaceCentral'; readonly weights: Float32Array | Float64Array }
  | { readonly order: 'capture'; readonly states: readonly string[] }
  | { readonly order: 'again'; readonly learningRateScale: number; readonly interventions: readonly Intervention[] }
  | { readonly order: 'end'; readonly finished: FinishedEvent }
  | { readonly order: 'fail'; readonly error: HostError }

/** The group of a run, as a hub makes it: without learners and devices, it needs neither the model nor the data. */
export type ServedGroup = Omit<GroupSpec, 'initial' | 'devices' | 'levels' | 'moved'>

/** What the first host sends to the others. */
export type ToFollower = Order | HostCall | HostAnswer

/** What the others send to the first host. */
export type ToLeader = Report | HostCall | HostAnswer

/**
 * What the others tell the first host.
 *
 * - `captured`: the bytes of the files of learners follow as messages, one for each place that is named, and then those of the vectors of the group
 *   that were asked for. `meets` has all places of the host in the order in which its learners meet.
 * - `notCaptured`: why the states cannot be copied, also in the place of files that `captured` has announced. The run goes on without this checkpoint.
 * - `stop`: the user of that process asks for the end of the run.
 */
export type Report =
  | { readonly report: 'hello'; readonly hello: Hello }
  | {
      readonly report: 'captured'
      readonly places: readonly number[]
      readonly meets: readonly number[]
      readonly states: readonly string[]
    }
  | { readonly report: 'notCaptured'; readonly error: HostError }
  | { readonly report: 'event'; readonly event: ForwardedEvent }
  | { readonly report: 'stop' }
  | { readonly report: 'failed'; readonly error: HostError }

/** Events of other hosts that the first one emits. */
export type ForwardedEvent = LearnerLostEvent | LoggedEvent | SampleSkippedEvent | WarningEvent

/** An error of another host, as it can be sent. */
export interface HostError {
  /** The name of its machine. */
  readonly host: string
  readonly code: ErrorCode
  readonly message: string
}
