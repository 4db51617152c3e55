import type { RepeatedMessage } from '../../actors/learner.js'
import type { MessageOutcome } from '../../learner/learner-plugin.js'
import type { PopulationStatus } from '../../protocols/protocols.js'
import type { ResizableLearners } from '../../tuner/population-control.js'

/** What a run does with its learners by their places: as a supervisor does it (`SupervisorControlProtocol`), for the learners of all hosts. */
export interface RunLearners extends ResizableLearners {
  population(): Promise<PopulationStatus>
  replaceNow(place: number): Promise<number>
  messageNow(place: number, method: string, args: readonly unknown[]): Promise<MessageOutcome>
  repeatNow(place: number, messages: readonly RepeatedMessage[]): Promise<void>
}
