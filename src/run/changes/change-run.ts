import type { GroupRule } from '../../engine/contract.js'
import { ArbalestError, invalidOption, thrownByCallback } from '../../errors.js'
import type { SavedModel } from '../../formats/saved-model.js'
import type { CentralMeasurement, CentralModel } from '../../protocols/protocols.js'
import type { PopulationControl } from '../../tuner/population-control.js'
import { instability } from '../../rules/stability.js'
import { asError, unpackError } from '../../runtime/errors-across-threads.js'
import {
  argumentsOf,
  messagesTo,
  ruleChangeOf,
  type Intervention,
  type MembershipChange,
  type RunChange,
  type RunPlace
} from '../../schedules/interventions.js'
import type { RunActors } from '../start/run-actors.js'
import type { ChangeOutcome } from './interventions.js'
import type { Growth } from '../memory/budget.js'
import type { PreparedRun } from '../prepare/prepare.js'
import { leaderOf } from '../hosts/meeting.js'
import { checkPeriod, presentRule } from '../run-settings.js'
import type { TrainingLoop } from '../training-loop.js'

export interface ChangeableRun {
  readonly run: PreparedRun
  readonly actors: RunActors
  readonly population: PopulationControl
  readonly training: TrainingLoop
  /** The changes made so far. */
  readonly made: () => readonly Intervention[]
  /** Takes a checkpoint. Resolves when training may go on, with the folder in which it will be; undefined in a run without checkpoints. */
  readonly save: () => Promise<{ readonly folder: Promise<string> } | undefined>
  /** Throws OUT_OF_MEMORY if memory does not hold so many more learners. */
  readonly checkMemory: (growth: Growth) => void
  readonly model: () => Promise<SavedModel>
  readonly measure: (data: string | undefined) => Promise<Omit<CentralMeasurement, keyof RunPlace>>
}

type ChangeOf<Kind> = Extract<RunChange, { readonly kind: Kind }>

/** Makes a change of a run whose learners rest at this place, or repeats that of a recorded run. Throws for one that is refused: then nothing has changed. */
export async function changeRun(
  target: ChangeableRun,
  change: RunChange | MembershipChange,
  place: RunPlace,
  isRepeated: boolean
): Promise<ChangeOutcome> {
  switch (change.kind) {
    case 'pause':
      return { answer: place }
    case 'set':
      await changeSettings(target, change, place)
      return { answer: place }
    case 'resize':
      refuseUnstable(target, change.learners)
      target.checkMemory({ there: target.population.learners, wanted: change.learners })
      await target.population.resize(place.round, change.learners, isRepeated)
      await changeSchedule(target, { ...place, ...change })
      return { answer: place }
    case 'replace':
      return { answer: { ...place, learner: await target.actors.learners.replaceNow(change.place) } }
    case 'tuning':
      target.population.tune(change.on, isRepeated)
      return { answer: place }
    case 'message':
      // Where a learner stands in its step must not depend on when the message came.
      await target.training.gather(place.round)
      return message(target, change)
    case 'death':
      if (target.run.hosts) throw new ArbalestError('INVALID_STATE', 'death: several hosts cannot repeat it; train in one process')
      await target.actors.supervisor.askWith({ deadline: Infinity }).departNow(change.place, change)
      return { answer: place }
    case 'join':
      await target.actors.supervisor.askWith({ deadline: Infinity }).succeedNow(change.place)
      return { answer: place }
    case 'measure':
      return { answer: { ...place, ...(await target.measure(change.data)) } }
    case 'model':
      return { answer: { ...place, ...(await target.model()) } satisfies CentralModel }
    case 'save': {
      const saved = await target.save()
      if (!saved) throw new ArbalestError('INVALID_STATE', 'checkpoints: the run has no folder for them; train with the option checkpoint')
      return { answer: saved.folder }
    }
  }
}

/**
 * Sends the learners of a run that goes on from a checkpoint, before this round, what they were sent in the same rest before the checkpoint was taken: they
 * had begun the step that follows it, and so they do again.
 */
export async function repeatMessages({ actors, population, training, made }: ChangeableRun, round: number): Promise<void> {
  const repeated = Array.from({ length: population.learners }, (_, place) => messagesTo(place, made(), { from: round }))
  if (repeated.every(({ length }) => length === 0)) return
  await training.gather(round)
  for (const [place, messages] of repeated.entries()) if (messages.length > 0) await actors.learners.repeatNow(place, messages)
}

async function changeSettings(target: ChangeableRun, change: ChangeOf<'set'>, place: RunPlace): Promise<void> {
  const { run, population, made } = target
  const intervention = { ...place, ...change }
  checkPeriod(change.period, run.settings)
  // Refuses what cannot be scheduled before the rule is changed, and what is too much for learners to come.
  run.scheduleFor(population.schedule, [...made(), intervention])
  const ruleChange = ruleChangeOf(change)
  await target.actors.synchroniser.ask.changeRule(ruleChange, mostFrom(population, place.round))
  leaderOf(run.hosts)?.order({ order: 'changeRule', change: ruleChange })
  await changeSchedule(target, intervention)
}

/** Throws INVALID_OPTION for more learners than the present rule is stable with. */
function refuseUnstable(target: ChangeableRun, learners: number): void {
  const unstable = instability(ruleNow(target), learners)
  if (unstable) throw invalidOption('learners', learners, `${unstable}: set a smaller one first, or null`)
}

function ruleNow({ run, made }: ChangeableRun): GroupRule {
  return presentRule({ rule: run.settings.rule, changes: made() })
}

/** The most learners that there will be from this round on, as far as it is known. */
function mostFrom({ learners, schedule }: PopulationControl, round: number): number {
  return Math.max(learners, ...schedule.filter((change) => change.round > round).map((change) => change.learners))
}

/** Gives the run the schedule after one more change. */
function changeSchedule({ run, population, training, made }: ChangeableRun, intervention: Intervention): Promise<void> {
  return training.changeSchedule(run.scheduleFor(population.schedule, [...made(), intervention]))
}

async function message({ actors }: ChangeableRun, { place, method, ...sent }: ChangeOf<'message'>): Promise<ChangeOutcome> {
  try {
    const outcome = await actors.learners.messageNow(place, method, argumentsOf(sent))
    return 'error' in outcome ? ofTheLearner(unpackError(outcome.error)) : outcome
  } catch (error) {
    // Any other error is of an answer that cannot be posted: the method was called.
    if (error instanceof ArbalestError) throw error
    return ofTheLearner(error)
  }
}

/** What came of a learner's method that has thrown, which is code of the user's. */
function ofTheLearner(thrown: unknown): ChangeOutcome {
  const error = asError(thrown)
  thrownByCallback(error)
  return { error }
}
