import { evaluatorCount } from '../../actors/evaluators.js'
import { compileInPieces, type CompileOptions } from '../../compiler/compile.js'
import { heldBytes } from '../../compiler/held-bytes.js'
import { isTransfer, operatorBytes, operatorCost } from '../../compiler/tiers/cost.js'
import { restorationOf } from '../../compiler/tiers/restoration.js'
import { memoryUseInPieces } from '../../compiler/memory-use.js'
import { SEGMENTS, type LoweredOperator, type Program, type SegmentName } from '../../compiler/program.js'
import { loadEngine } from '../../engine/contract.js'
import { loweringBackend } from '../../engine/lowering.js'
import { loadOperators } from '../../model/composed.js'
import { sma } from '../../rules/sma.js'
import { bytesOf, RunMemory, type MovedVectors } from '../memory/need.js'
import { EVALUATION_BATCH } from '../../trained/programs.js'
import { beyondLimit, fitStep, waysToMove, type StepTrial } from '../memory/fit-run.js'
import { MemoryBudget } from '../memory/budget.js'
import { arenasFor, totalArenas } from '../memory/shared-arenas.js'
import { checkSpill, speedsOf, transferSpeed, type Speeds } from './speeds.js'
import { explainSettings, type ExplainOptions } from '../../options/explain.js'
import { inTurns } from '../../turns.js'
import type { ExplainedOperator, Explanation } from './explanation.js'

/** As `train` has it by default. */
const ONE_DEVICE = { devices: [{ cores: [] }], levels: [], ordered: false } as const

const ENGINE = new URL('../../engine/native.js', import.meta.url)

/** See `explain`. */
export async function explainStep(options: ExplainOptions): Promise<Explanation> {
  const engine = await loadEngine(ENGINE.href)
  const { learners, threads, precision, backend: name, batch, model, deviceMemory, spill, ...settings } = explainSettings(options)
  checkSpill(engine, { backend: name, spill })
  await loadOperators(model)
  const backend = loweringBackend(engine, name, threads)
  const recipe: CompileOptions = { mode: 'train', batch, precision, optimiser: { momentum: 0.9 } }
  const whole = await inTurns(compileInPieces(model, backend, recipe))
  const { parameters } = whole
  /** The step, and what measures the model, for vectors that lie on the device or in the second tier. */
  const programsFor = async (step: Program | undefined, vectors: 'device' | 'host') => {
    const measuring: Program[] = []
    for (const mode of ['evaluate', 'statistics', 'predict'] as const) {
      const evaluation = { mode, batch: EVALUATION_BATCH, precision, parameters, vectors }
      measuring.push(await inTurns(compileInPieces(model, backend, evaluation)))
    }
    return { step: step ?? (await inTurns(compileInPieces(model, backend, { ...recipe, parameters, vectors }))), measuring }
  }
  const onDevice = await programsFor(whole, 'device')
  const speeds = speedsOf(engine, threads, settings)
  const transfers = transferSpeed(engine, { backend: name, spill }, learners)
  const arenas = engine.capabilities(name).streams ? undefined : arenasFor(learners, { threads })
  const moved = transfers && (await programsFor(undefined, 'host'))
  const memoryOf = (step: Program, vectors?: MovedVectors) =>
    new RunMemory(engine, {
      backend: name,
      train: step,
      moved: vectors,
      group: { backend: name, layout: parameters, batch, rule: sma({}, { learners }), optimiser: step.segments.update[0]!.attributes },
      evaluation: { programs: (vectors === 'all' ? moved! : onDevice).measuring, replicas: evaluatorCount(engine, name, { learners }) },
      samples: 0,
      arenas: arenas && totalArenas(arenas)
    })
  const memoryBytes = memoryOf(whole).withActivations(whole.arenas.activations, learners)
  const trial: StepTrial = {
    speed: speeds,
    transfers,
    stepOf: (vectors) => Promise.resolve(vectors === 'all' ? moved!.step : whole),
    memoryOf,
    compile: (limit, vectors) =>
      inTurns(compileInPieces(model, backend, { ...recipe, parameters, limit, vectors: vectors === 'all' ? 'host' : 'device' })),
    ways: waysToMove(recipe.optimiser!, ONE_DEVICE.levels, transfers, 1)
  }
  const { floor: floorBytes } = await fitStep(trial, 0, learners)
  const budget = deviceMemory && MemoryBudget.now(engine, { backend: name, devices: ONE_DEVICE, deviceMemory })
  // Nothing is taken here: a limit is that of the machine that is to train, which may have more memory than this one.
  const limit = budget && (budget.limit ?? budget.free)
  if (limit !== undefined && floorBytes > limit) throw beyondLimit({ limit, floor: floorBytes, batch, learners })
  const fits = limit === undefined || memoryBytes <= limit
  const fitted = fits ? undefined : (await fitStep(trial, limit, learners)).fitted!
  const train = fitted?.train ?? whole
  const { learner, shared, updateBytes } = fitted?.memory ?? memoryOf(whole)
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
    parameters: parameters.elements,
    operators,
    flops: sum(({ flops }) => flops),
    bytes: sum(({ bytes }) => bytes),
    floorSeconds: sum(({ floorSeconds }) => floorSeconds),
    speeds,
    memory: { learner, shared, total: learners * bytesOf(learner) + bytesOf(shared) },
    memoryBytes,
    floorBytes,
    ...(limit !== undefined && (fitted?.restoration ?? restorationOf(whole, { speed: speeds, transfers, updateBytes }))),
    timeline: { held: heldBytes(whole), ...(!fits && { within: heldBytes(train) }) },
    ...(await inTurns(memoryUseInPieces(model, backend, recipe)))
  }
}

/** Transfers compute nothing, and run beside the others. */
function computing({ segments }: Program, segment: SegmentName): readonly LoweredOperator[] {
  return segments[segment].filter(({ kind }) => !isTransfer(kind))
}

export function explainedOperators(program: Program, speeds: Speeds, updateBytes: number): readonly ExplainedOperator[] {
  const values = (ids: readonly number[]) => ids.filter((id) => id >= 0).map((id) => program.values[id]!)
  return SEGMENTS.flatMap((segment) =>
    computing(program, segment).map(({ kind, name, implementation, attributes, inputs, outputs, flops }): ExplainedOperator => {
      const bytes = kind === 'update' ? updateBytes : operatorBytes({ kind, inputs, outputs }, program.values)
      const { seconds, boundBy } = operatorCost({ flops, bytes }, speeds)
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
        floorSeconds: seconds,
        boundBy
      }
    })
  )
}
