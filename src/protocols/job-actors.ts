import type { RoundFigures } from '../engine/contract.js'
import { ArbalestError, invalidOption } from '../errors.js'
import { callsOver, type MessagePort } from '../runtime/port.js'
import type {
  CheckpointsProtocol,
  EvaluatorProtocol,
  FeederStatusProtocol,
  LearnerProtocol,
  SupervisorProtocol,
  SynchroniserProtocol
} from './protocols.js'
import { RunRef, type SendCall } from './run-ref.js'

/** A run's synchroniser. */
export class SynchroniserRef extends RunRef<SynchroniserProtocol> {
  /**
   * The figures of each whole round from now on, or of those after a round that are known: its loss, how far each learner was from the central model, and
   * how long it waited. Ends with the run. A reader that falls 4096 rounds behind misses some.
   */
  async *rounds(after?: number): AsyncGenerator<RoundFigures, void, undefined> {
    try {
      let last = after ?? (await this.ask.status()).round - 1
      for (;;)
        for (const figures of await this.ask.roundsAfter(last)) {
          last = figures.round
          yield figures
        }
    } catch (error) {
      if (!(error instanceof ArbalestError && error.code === 'ACTOR_GONE')) throw error
    }
  }
}

/** The methods of a learner's class that are messages: all but those that the run itself calls. */
export type LearnerMessages<Plugin extends object> = Omit<Plugin, 'started' | 'step' | 'stopping' | keyof LearnerProtocol>

/** The learner in a place of a run, whichever it is at the time. */
export type LearnerRef<Plugin extends object = object> = RunRef<LearnerProtocol & LearnerMessages<Plugin>>

/** The actors of a run, as a program talks to them. */
export interface JobActors {
  readonly synchroniser: SynchroniserRef
  readonly supervisor: RunRef<SupervisorProtocol>
  readonly evaluator: RunRef<EvaluatorProtocol>
  /** Asks reject with INVALID_STATE in a run without the option `checkpoint`. */
  readonly checkpoints: RunRef<CheckpointsProtocol>
  /** Asks reject with INVALID_STATE where the samples lie in memory. */
  readonly feeder: RunRef<FeederStatusProtocol>
  /** The learner in a place; asks reject with INVALID_OPTION while there is no such place. */
  learner<Plugin extends object = object>(place: number): LearnerRef<Plugin>
  /** The learners by place, as many as there are now. */
  learners<Plugin extends object = object>(): readonly LearnerRef<Plugin>[]
}

/** The actors to which `send` delivers; `learners` is their number now. */
export function jobActors(send: SendCall, learners: () => number): JobActors {
  const places: LearnerRef<never>[] = []
  const learner = (place: number) => (places[place] ??= new RunRef(`learner in place ${place}`, { actor: 'learner', place }, send))
  return {
    synchroniser: new SynchroniserRef('synchroniser', { actor: 'synchroniser' }, send),
    supervisor: new RunRef('supervisor', { actor: 'supervisor' }, send),
    evaluator: new RunRef('evaluator', { actor: 'evaluator' }, send),
    checkpoints: new RunRef('checkpoints', { actor: 'checkpoints' }, send),
    feeder: new RunRef('feeder', { actor: 'feeder' }, send),
    learner: (place) => learner(place) as never,
    learners: () => Array.from({ length: learners() }, (_, place) => learner(place)) as never
  }
}

/** The actors of a run in another thread, over a port that its `job.connect()` gave; `learners` is how many `learners()` lists. */
export function actorsAt(port: MessagePort, learners = 1): JobActors {
  if (typeof (port as Partial<MessagePort> | null)?.postMessage !== 'function')
    throw invalidOption('port', port, 'give the MessagePort that job.connect() gave')
  if (!Number.isSafeInteger(learners) || learners < 0) throw invalidOption('learners', learners, 'give the number of learners')
  return jobActors(callsOver(port), () => learners)
}
