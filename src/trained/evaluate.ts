import type { Evaluator } from '../actors/evaluator.js'
import { sma } from '../rules/sma.js'
import type { Program } from '../compiler/program.js'
import type { Dataset } from '../data/dataset.js'
import type { Engine, Handle } from '../engine/contract.js'
import { isGpu } from '../engine/gpu.js'
import { loweringBackend } from '../engine/lowering.js'
import { usableCores } from '../engine/machine.js'
import { freeMemory } from '../engine/free-memory.js'
import type { FloatTensors } from '../formats/tensor.js'
import type { Model } from '../model/model.js'
import { ActorSystem } from '../runtime/system.js'
import { sharesOf } from '../run/run-actors.js'
import { breakOff, startFeed } from '../actors/feed.js'
import { HandleScope } from '../engine/handle-scope.js'
import { answersTo, evaluationOf } from './programs.js'
import { planTests, SourceMaker } from '../actors/sources.js'

/** What a model is worth on held-out samples. */
export interface Measurement {
  readonly samples: number
  /** Mean over the samples. */
  readonly testLoss: number
  /** Share of right answers, 0 to 1; null where the targets are not classes. */
  readonly testAccuracy: number | null
  /** That it took. */
  readonly seconds: number
}

export interface Measured {
  readonly engine: Engine
  /** Exports the engine. */
  readonly module: URL
  readonly model: Model
  /** Holds the weights. */
  readonly replica: Handle
  /** The program that predicts. */
  readonly program: Program
  readonly normalisation: Pick<Dataset, 'mean' | 'std'>
}

const EVALUATOR = new URL('../actors/evaluator.js', import.meta.url)

/** Measures weights and statistics on the test samples, by as many evaluators as in training; all of them have ended when it resolves. */
export async function measure(measured: Measured, statistics: FloatTensors, data: Dataset): Promise<Measurement> {
  const start = performance.now()
  const { engine, module, model, replica, program, normalisation } = measured
  const { backend, parameters: layout } = program
  const { mean, std } = normalisation
  const passes = evaluationOf(model, data, { predict: program, load: { mean, std } }, loweringBackend(engine, backend))
  const handles = new HandleScope(engine)
  const system = new ActorSystem()
  try {
    const initial = engine.readVector(replica, 'weights')
    const group = handles.own(engine.createGroup({ backend, layout, initial, batch: 1, rule: sma({}, { learners: 1 }) }))
    const predict = handles.own(engine.createProgram(program))
    const evaluate = passes.map((pass) => ({ ...pass, program: handles.own(engine.createProgram(pass.program)) }))
    const shares = sharesOf(evaluate, isGpu(backend) ? 1 : usableCores())
    const sources = new SourceMaker(data, engine, handles)
    const tests = sources.tests(
      planTests(data, shares, Math.min(freeMemory(engine, { backend }), engine.describe().freeMemory)),
      shares.length
    )
    const feed = await startFeed(data, sources.lanes, { engine: module, seed: 0, system, skipped: () => {} })
    const measuring = Promise.all(
      shares.map(async (share, i) => {
        const test = tests[i]!
        const own = handles.own(engine.createReplica({ backend, layout, threads: 1, seed: 0 }))
        const slot = engine.bind(own, predict)
        for (const [name, values] of Object.entries(statistics)) engine.writeValue(own, slot, name, values.data)
        const options = { engine: module.href, group, replica: own, train: test, test, evaluate: share }
        breakOff(feed, [own], engine)
        const evaluator = await system.spawn<typeof Evaluator>(EVALUATOR, 'Evaluator', options, { name: `evaluator ${i}` })
        return evaluator.askWith({ deadline: Infinity }).measure()
      })
    )
    const findings = await Promise.race([measuring, feed.failed])
    const { count: samples } = data.test
    const answers = answersTo(model, data)
    return {
      samples,
      testLoss: findings.reduce((sum, { loss }) => sum + loss, 0) / samples,
      testAccuracy: answers > 0 ? findings.reduce((sum, { correct }) => sum + correct, 0) / (samples * answers) : null,
      seconds: (performance.now() - start) / 1000
    }
  } finally {
    await system.stop()
    handles.release()
  }
}
