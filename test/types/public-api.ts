/** What must not compile of the public API: checked by tsc, never run. */
import {
  conv2d,
  defineConfig,
  defineModel,
  linear,
  loadModel,
  multiply,
  train,
  type Job,
  type JobEvent,
  type LearnerContext,
  type LearnerPlugin,
  type LearnerReplica,
  type Teacher,
  type TeacherSpec,
  type TrainedModel,
  type TrainOptions
} from '../../src/index.js'

// @ts-expect-error a folder is named by its path
train({ initial: 4 })
// @ts-expect-error the count of learners is a number
train({ model: 'mlp', learners: '2' })
// @ts-expect-error a slip of the pen
train({ model: 'mlp', learner: 2 })
// @ts-expect-error double precision is the tests' own
train({ model: 'mlp', precision: 'f64' })
// @ts-expect-error the stand-in for GPUs is the tests' own
train({ model: 'mlp', backend: 'cuda-host' })
// @ts-expect-error nor does a teacher answer in it
export const precise: TeacherSpec['precision'] = 'f64'
export const gated = multiply({ body: [linear(4)], shortcut: [linear(4)], shortcutName: 'gate' })
export const outputs = (replica: LearnerReplica): Float32Array => replica.read('output')
// @ts-expect-error tokens, or pixels
export const inputs = (replica: LearnerReplica): Float32Array => replica.read('input')
export const asked = (teacher: Teacher): Float32Array => teacher.predict(Int32Array.of(1, 2))
// @ts-expect-error there is no such rule
train({ model: 'mlp', synchroniser: { name: 'hogwash' } })
// @ts-expect-error a slip of the pen in a config
defineConfig({ optimiser: { speed: 2 } })
defineConfig({
  model: 'mlp',
  // @ts-expect-error told where it is, and not at the first option
  until: { epoch: 2 }
})
// @ts-expect-error also in one that is made by a function
defineConfig(() => ({ batch: '16' }))
// @ts-expect-error a convolution needs its kernel
conv2d(16)
// @ts-expect-error there is no such loss
defineModel({ name: 'own', input: [4], layers: [linear(2)], loss: 'hinge' })

export function readsEvents(event: JobEvent): number | null {
  // @ts-expect-error only some events have it
  const wrong: unknown = event.testAccuracy
  if (wrong === event) return null
  return event.event === 'evaluated' || event.event === 'finished' ? event.testAccuracy : null
}

export async function readsJobs(options: TrainOptions): Promise<Float32Array> {
  await using job = train(options)
  // @ts-expect-error every event has a name that is known
  job.on('done', () => {})
  job.once('finished', ({ weightsSha256 }) => weightsSha256.length)
  const { testLoss }: { testLoss: number } = await job.finished
  return job.model.predict(Float32Array.of(testLoss))
}

class Warm implements LearnerPlugin {
  readonly #context: LearnerContext
  constructor(context: LearnerContext) {
    this.#context = context
  }
  step(): unknown {
    this.#context.actors.synchroniser.tell.set({ momentum: 0.1 })
    return this.#context.replica.run(1)
  }
  warm(by: number): number {
    return by
  }
}

export async function talks({ actors }: Job): Promise<number> {
  const { round }: { readonly round: number } = await actors.synchroniser.ask.pause()
  // @ts-expect-error what conducts a run is the run's own
  await actors.synchroniser.ask.pauseAt(round)
  // @ts-expect-error a slip of the pen
  await actors.synchroniser.ask.set({ speed: 2 })
  await actors.synchroniser.ask.set({ learningRate: { factor: 2 }, alpha: null })
  const central: TrainedModel = await loadModel(await actors.synchroniser.ask.model())
  // @ts-expect-error weights alone are no model
  await loadModel(await actors.synchroniser.ask.central())
  // @ts-expect-error a number of learners
  actors.supervisor.tell.resize('3')
  for await (const { loss } of actors.synchroniser.rounds()) if (loss < 1) break
  const warm: number = await actors.learner<Warm>(0).ask.warm(2)
  // @ts-expect-error the run alone calls it
  await actors.learner<Warm>(0).ask.step()
  // @ts-expect-error of a plugin that is not told there are no methods
  await actors.learners()[0]!.ask.warm(2)
  const { learners } = await actors.supervisor.ask.population()
  return warm + learners + central.input.length
}
