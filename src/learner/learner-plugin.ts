import { unknownName } from '../errors.js'
import type { Model } from '../model/model.js'
import type { LoggedMetrics } from '../observe/logged-metrics.js'
import { packError, type PortableError } from '../runtime/errors-across-threads.js'
import { exportedNames, moduleRefusal, ownModule } from '../own-module.js'
import type { JobActors } from '../protocols/job-actors.js'
import type { LearnerReplica } from './learner-replica.js'
import type { Teacher, TeacherSpec } from './teacher.js'

/** What a learner gets when it is made. `Options` is the type of the job's `learnerOptions`. */
export interface LearnerContext<Options = unknown> {
  /** The job's `learnerOptions`. Each learner has a copy, but a SharedArrayBuffer in it is shared by all. */
  readonly options: Options
  /** Its replica of the model, with the job's training step. */
  readonly replica: LearnerReplica
  /** Its number, unique in the job. */
  readonly learner: number
  /** Its place among the learners, from 0. A learner that replaces a failed one has the same rank. */
  readonly rank: number
  /** The number of learners at the job's start; it may change during the run. */
  readonly learners: number
  readonly model: Model
  readonly seed: number
  /** The number of training samples. */
  readonly samples: number
  /** The number of iterations that the job runs, as planned at its start. */
  readonly iterations: number
  /** The number of iterations that are done, counted for this learner; other learners may be ahead or behind. */
  iteration(): number
  /** Records metrics, finite numbers by name, as the job's event `logged` of this learner at `iteration()`. Throws INVALID_OPTION. */
  log(metrics: LoggedMetrics): void
  /**
   * The other actors of the run. A learner may ask them how they are at any time. What changes the run can only be told: it happens while all learners
   * rest, and one that waits for it in a step never comes to rest. Such an ask rejects with INVALID_STATE.
   */
  readonly actors: JobActors
  /** Makes a second model with a replica and weights of its own. */
  teacher(spec: TeacherSpec): Promise<Teacher>
}

/**
 * A user's learner. An error that it throws ends it, and another learner takes its place. Its other public methods are messages:
 * `job.actors.learner<MyLearner>(0).ask.temperature(2)` calls `temperature` between two rounds, while all learners rest.
 */
export interface LearnerPlugin {
  /** Before the first step. */
  started?(): void | Promise<void>
  /** One step, or several by `replica.run`. Called again and again. While the job pauses, the replica's calls wait. */
  step(): unknown
  /** After the last step, even if the learner has failed. Not called if its thread is terminated, as it is where this takes too long. What it throws becomes a warning. */
  stopping?(): void | Promise<void>
}

/** What a learner's module exports, as its default or as `Learner`: a class, or a function that returns the plugin or only its `step`. */
export type LearnerModule<Options = never> =
  (new (context: LearnerContext<Options>) => LearnerPlugin) | ((context: LearnerContext<Options>) => LearnerPlugin | LearnerPlugin['step'])

/** Makes the learner that the module at this address exports. Throws INVALID_OPTION, and any error of the module. */
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

/** The methods of a learner that the run itself calls. */
type OwnMethod = keyof LearnerPlugin

const OWN_METHODS: Readonly<Record<OwnMethod, true>> = { started: true, step: true, stopping: true }

/** What came of a message: the method's answer, or the error that it threw. */
export type MessageOutcome = { readonly answer: unknown } | { readonly error: PortableError }

/** Calls a method of the plugin that is a message. Throws UNKNOWN_NAME if there is none of this name. */
export async function callMethod(plugin: LearnerPlugin, method: string, args: readonly unknown[], name: string): Promise<MessageOutcome> {
  const found = messagesOf(plugin)
  if (!found.includes(method)) throw unknownName(`method of ${name}`, method, found)
  try {
    return { answer: await (plugin as unknown as Record<string, (...args: readonly unknown[]) => unknown>)[method]!(...args) }
  } catch (error) {
    return { error: packError(error) }
  }
}

function messagesOf(plugin: LearnerPlugin): string[] {
  const names = new Set<string>()
  for (let level: object | null = plugin; level && level !== Object.prototype; level = Object.getPrototypeOf(level) as object | null)
    for (const name of Object.getOwnPropertyNames(level)) {
      // A getter may have effects.
      const { value } = Object.getOwnPropertyDescriptor(level, name)!
      if (typeof value === 'function' && name !== 'constructor' && !Object.hasOwn(OWN_METHODS, name)) names.add(name)
    }
  return [...names]
}

function isClass(exported: object): boolean {
  return /^class\b/.test(Function.prototype.toString.call(exported))
}
