import { evaluatorCount } from '../actors/evaluators.js'
import { compileInPieces, type CompileOptions } from '../compiler/compile.js'
import { memoryUseInPieces, type MemoryUse } from '../compiler/memory-use.js'
import { SEGMENTS, type BackendName, type Precision, type Program, type SegmentName } from '../compiler/program.js'
import { loadEngine, type Engine } from '../engine/contract.js'
import { loweringBackend } from '../engine/lowering.js'
import { usableCores } from '../engine/machine.js'
import { measureMemorySpeed, type MemorySpeed } from '../engine/memory-speed.js'
import { loadOperators } from '../model/composed.js'
import type { Attributes } from '../model/graph.js'
import { sma } from '../rules/sma.js'
import { bytesOf, RunMemory, type LearnerMemory, type SharedMemory } from './memory/need.js'
import { EVALUATION_BATCH } from '../trained/programs.js'
import { arenasFor, totalArenas } from './memory/shared-arenas.js'
import { explainSettings, type ExplainOptions } from '../options/explain.js'
import { inTurns } from '../turns.js'

/** One operator of a training step. */
export interface ExplainedOperator {
  readonly segment: SegmentName
  readonly kind: string
  readonly name: string
  /** The implementation that the backend chose. */
  readonly implementation: string
  readonly attributes: Attributes
  /** Shapes, batch first; `output` is the shape of the first output. */
  readonly inputs: readonly (readonly number[])[]
  readonly output: readonly number[]
  readonly flops: number
  /** Read and written. */
  readonly bytes: number
  readonly floorSeconds: number
  readonly boundBy: 'arithmetic' | 'memory'
}

/** The speeds behind the time floor. Data of up to `cacheBytes` may lie in a cache. */
export interface Speeds extends MemorySpeed {
  readonly flopsPerSecond: number
  readonly measured: { readonly arithmetic: boolean; readonly memory: boolean }
}

/** The cost of a training step, known before training. Bytes and seconds are those of one learner, unless said otherwise. */
export interface Explanation extends MemoryUse {
  readonly model: string
  readonly input: readonly number[]
  readonly batch: number
  readonly learners: number
  readonly threads: number
  readonly precision: Precision
  readonly backend: BackendName
  readonly processor: string
  readonly parameters: number
  readonly operators: readonly ExplainedOperator[]
  readonly flops: number
  readonly bytes: number
  /** A lower bound: each operator takes at least as long as its arithmetic alone, and as its reads and writes alone. */
  readonly floorSeconds: number
  readonly speeds: Speeds
  readonly memory: { readonly learner: LearnerMemory; readonly shared: SharedMemory; readonly total: number }
}

const ENGINE = new URL('../engine/native.js', import.meta.url)

/**
 * The operators of a model's training step, and their cost in arithmetic and memory. Compiles as `train` does, in turns with the event loop, but needs no data and takes
 * none of the memory.
 *
 * Throws INVALID_OPTION, UNKNOWN_NAME, INVALID_MODEL, SHAPE_MISMATCH, UNSUPPORTED_PRECISION, ENGINE_MISSING.
 */
export async function explain(options: ExplainOptions): Promise<Explanation> {
  const engine = await loadEngine(ENGINE.href)
  const { learners, threads, precision, backend: name, batch, model, ...settings } = explainSettings(options)
  await loadOperators(model)
  const backend = loweringBackend(engine, name, threads)
  const recipe: CompileOptions = { mode: 'train', batch, precision, optimiser: { momentum: 0.9 } }
  const train = await inTurns(compileInPieces(model, backend, recipe))
  const measuring: Program[] = []
  for (const mode of ['evaluate', 'statistics', 'predict'] as const) {
    const evaluation = { mode, batch: EVALUATION_BATCH, precision, parameters: train.parameters }
    measuring.push(await inTurns(compileInPieces(model, backend, evaluation)))
  }
  const speeds = speedsOf(engine, threads, settings)
  const arenas = engine.capabilities(name).streams ? undefined : arenasFor(learners, { threads })
  const { learner, shared, updateBytes } = new RunMemory(engine, {
    backend: name,
    train,
    group: { backend: name, layout: train.parameters, batch, rule: sma({}, { learners }), optimiser: train.segments.update[0]!.attributes },
    evaluation: { programs: measuring, replicas: evaluatorCount(engine, name, learners) },
    samples: 0,
    arenas: arenas && totalArenas(arenas)
  })
  const operators = explainedOperators(train, speeds, updateBytes)
  const sum = (figure: (operator: ExplainedOperator) => number) => operators.reduce((total, operator) => total + figure(operator), 0)
  return {
    model: model.name,
    input: model.input,
    batch,
    learners,
    threads,
    precision,
    backend: name,
    processor: engine.describe().processor,
    parameters: train.parameters.elements,
    operators,
    flops: sum(({ flops }) => flops),
    bytes: sum(({ bytes }) => bytes),
    floorSeconds: sum(({ floorSeconds }) => floorSeconds),
    speeds,
    memory: { learner, shared, total: learners * bytesOf(learner) + bytesOf(shared) },
    ...(await inTurns(memoryUseInPieces(model, backend, recipe)))
  }
}

function speedsOf(engine: Engine, threads: number, assumed: Pick<ExplainOptions, 'flopsPerSecond' | 'bytesPerSecond'>): Speeds {
  const { flopsPerSecond = Math.min(threads, usableCores()) * engine.measurePeak(), bytesPerSecond: every } = assumed
  const memory: MemorySpeed =
    every === undefined ? measureMemorySpeed() : { bytesPerSecond: every, cacheBytesPerSecond: every, cacheBytes: 0 }
  return { flopsPerSecond, ...memory, measured: { arithmetic: assumed.flopsPerSecond === undefined, memory: every === undefined } }
}

function explainedOperators(program: Program, speeds: Speeds, updateBytes: number): readonly ExplainedOperator[] {
  const values = (ids: readonly number[]) => ids.filter((id) => id >= 0).map((id) => program.values[id]!)
  return SEGMENTS.flatMap((segment) =>
    program.segments[segment].map(({ kind, name, implementation, attributes, inputs, outputs, flops }): ExplainedOperator => {
      const touched = [...values(inputs), ...values(outputs)].reduce((sum, { bytes }) => sum + bytes, 0)
      const bytes = kind === 'update' ? updateBytes : kind === 'reshape' ? 0 : touched
      const speed = bytes <= speeds.cacheBytes ? speeds.cacheBytesPerSecond : speeds.bytesPerSecond
      const [arithmetic, memory] = [flops / speeds.flopsPerSecond, bytes / speed]
      return {
        segment,
        kind,
        name,
        implementation,
        attributes,
        inputs: values(inputs).map(({ shape }) => shape),
        output: values(outputs)[0]?.shape ?? [],
        flops,
        bytes,
        floorSeconds: Math.max(arithmetic, memory),
        boundBy: arithmetic > memory ? 'arithmetic' : 'memory'
      }
    })
  )
}
