import { workloadOf, type Case } from './cases.js'
import { trainingProgram } from './flops-per-image.js'
import { buildGraph, engine, initialParameters, modelNamed, type Handle, type Program } from './internals.js'
import { randomDataset } from './random-dataset.js'

/** What the threads of a group's learners share: handles are plain numbers, which mean the same in all threads. */
export interface GroupParts {
  readonly group: Handle
  readonly program: Handle
  readonly dataset: Handle
  readonly layout: Program['parameters']
}

/** A group on the engine, without actors, whose learners average by SMA in every step. Its samples take hundreds of megabytes, until it is released. */
export class LearnerGroup implements Disposable {
  readonly parts: GroupParts
  /** The learners' step. */
  readonly step: Program

  constructor({ model, batch, precision }: Pick<Case, 'model' | 'batch' | 'precision'>) {
    const workload = workloadOf(model)
    this.step = trainingProgram(model, batch, precision)
    const layout = this.step.parameters
    const graph = buildGraph(modelNamed(model, { input: workload.sample, classes: workload.classes }), { batch, mode: 'train' })
    const group = engine.createGroup({
      backend: 'cpu',
      layout,
      initial: initialParameters(graph, 1),
      batch,
      rule: { kind: 'synchronous', central: { kind: 'sma', alpha: null, momentum: 0 }, adopts: false, period: 1, from: 0 }
    })
    engine.setLearningRates(group, 0, Float32Array.of(0.01))
    const dataset = engine.createDataset(randomDataset(workload).train)
    this.parts = { group, program: engine.createProgram(this.step), dataset, layout }
  }

  /** Ends the calls in which learners train or wait. */
  stop(): void {
    engine.stop(this.parts.group)
  }

  [Symbol.dispose](): void {
    this.stop()
    const { group, program, dataset } = this.parts
    for (const handle of [dataset, program, group]) engine.release(handle)
  }
}
