import type { Model } from '../model/model.js'
import { exportedNames, moduleRefusal, ownModule } from '../own-module.js'
import type { LearnerReplica } from './learner-replica.js'
import type { Teacher, TeacherSpec } from './teacher.js'

/** What a learner is given when it is made. `Options` is the type of the job's `learnerOptions`. */
export interface LearnerContext<Options = unknown> {
  /** The job's `learnerOptions`: a copy of this learner's own, but for SharedArrayBuffers, which all learners share. */
  readonly options: Options
  /** Its replica of the model, with the job's training step. */
  readonly replica: LearnerReplica
  /** Its number, never used twice in a job. */
  readonly learner: number
  /** Its place among the learners, from 0; the one that replaces a lost learner has the same. */
  readonly rank: number
  /** Places for learners at the job's start; with a population that changes there may be more or fewer. */
  readonly learners: number
  readonly model: Model
  readonly seed: number
  /** Samples of the training set. */
  readonly samples: number
  /** Iterations that the job will run, as it was reckoned at its start. */
  readonly iterations: number
  /** Iterations that this learner has finished, those before it joined counted in; other learners may be ahead or behind. */
  iteration(): number
  /** A second model with a replica and weights of its own. */
  teacher(spec: TeacherSpec): Promise<Teacher>
}

/** A learner of one's own. What it throws ends it, and another takes its place. */
export interface LearnerPlugin {
  /** Before the first step. */
  started?(): void | Promise<void>
  /** One step, or several by `replica.run`. It is called again and again; while the job pauses, it rests inside of its call of the replica. */
  step(): unknown
  /** After the last step, however the learner ends short of its thread being killed. */
  stopping?(): void | Promise<void>
}

/**
 * What a learner's module exports, as its default or as `Learner`: a class, or a function that gives the plugin or just its `step`.
 */
export type LearnerModule<Options = never> =
  (new (context: LearnerContext<Options>) => LearnerPlugin) | ((context: LearnerContext<Options>) => LearnerPlugin | LearnerPlugin['step'])

/** Makes the learner that the module at this address exports. Throws INVALID_OPTION, and what the module throws. */
export async function makeLearner(module: string, context: LearnerContext): Promise<LearnerPlugin> {
  const mention = { parameter: 'learner', module }
  const exported = await ownModule(mention)
  const found = exported['default'] ?? exported['Learner']
  if (typeof found !== 'function')
    throw moduleRefusal(mention, `it exports ${exportedNames(exported)}; export a class or a function as the default`)
  const made: unknown = isClass(found) ? Reflect.construct(found, [context]) : (found as (context: LearnerContext) => unknown)(context)
  if (typeof made === 'function') return { step: made as LearnerPlugin['step'] }
  if (typeof (made as Partial<LearnerPlugin> | null)?.step !== 'function')
    throw moduleRefusal(mention, `the learner that it makes has no method \`step\`; give it one`)
  return made as LearnerPlugin
}

function isClass(exported: object): boolean {
  return /^class\b/.test(Function.prototype.toString.call(exported))
}
