import { invalidOption } from '../errors.js'
import { buildGraphInPieces, type LoadOptions, type LossChoice, type Mode } from '../model/graph-builder.js'
import type { Graph, Operator } from '../model/graph.js'
import type { Model } from '../model/model.js'
import { atOnce, type Pieces } from '../turns.js'
import { differentiateInPieces } from './differentiate.js'
import { fuseInPieces } from './fuse.js'
import { lower, type LoweredStep, type LoweredStepOperator } from './lower.js'
import { updateAttributes, type OptimiserAttributes } from './optimiser.js'
import { withGroups } from './parameter-groups.js'
import { withPartialSums } from './partial-sums.js'
import { plan } from './plan.js'
import {
  SEGMENTS,
  type LoweredOperator,
  type LoweringBackend,
  type ParameterLayout,
  type Precision,
  type Program,
  type SegmentName
} from './program.js'
import { pruneInPieces } from './prune.js'
import { forwardStep, type Step } from './step.js'
import { operatorFlops } from './tiers/cost.js'
import { fit, type MemoryLimit, type PlacedStep } from './tiers/fit.js'
import { withMovedVectors } from './tiers/vectors.js'

export interface CompileGraphOptions {
  readonly mode: Mode
  readonly precision: Precision
  /** The job's layout, from the program that was compiled first; left out, this program's parameters lie as it likes them best. */
  readonly parameters?: ParameterLayout
  readonly optimiser?: OptimiserAttributes
  /**
   * Where vectors lie that have the parameters' layout: in the second tier (`host`) parameters are fetched before the operators that read them, and gradients
   * stored when they have been written. On the device if omitted.
   */
  readonly vectors?: 'device' | 'host' | undefined
  /** Of the memory of its activations; left out, everything is held and nothing is computed twice. */
  readonly limit?: MemoryLimit
}

/** What a program is compiled for. */
export interface CompileOptions extends CompileGraphOptions {
  readonly batch: number
  readonly load?: LoadOptions
  readonly loss?: LossChoice
  readonly softTargets?: boolean
  readonly topK?: number
  readonly freeze?: readonly string[]
}

/**
 * A Model as a Program for a backend. Deterministic: the same model, backend and options give the same Program.
 *
 * Compile `train` first and pass its `parameters` on to the other programs of a job: they then share a replica's weights.
 * Throws what `buildGraph` throws, INVALID_OPTION for the optimiser, INVALID_PROGRAM where `parameters` are another model's, OUT_OF_MEMORY for a
 * `limit` that is not to be kept, and what the backend throws.
 */
export function compile(model: Model, backend: LoweringBackend, options: CompileOptions): Program {
  return atOnce(compileInPieces(model, backend, options))
}

/** The same, an operator at a time: a large model takes seconds. */
export function* compileInPieces(model: Model, backend: LoweringBackend, options: CompileOptions): Pieces<Program> {
  if (typeof options !== 'object' || options === null)
    throw invalidOption('options', options, 'give an object with mode, batch and precision')
  const { batch, load, loss = 'model', softTargets = false, topK, freeze, mode, ...rest } = options
  const build = { batch, mode, loss, softTargets, ...(load && { load }), ...(topK !== undefined && { topK }), ...(freeze && { freeze }) }
  return yield* compileGraphInPieces(yield* buildGraphInPieces(model, build), backend, { mode, ...rest })
}

/** The same for a forward Graph: with mode `train` it is differentiated and ends in the optimiser's update. */
export function compileGraph(graph: Graph, backend: LoweringBackend, options: CompileGraphOptions): Program {
  return atOnce(compileGraphInPieces(graph, backend, options))
}

function* compileGraphInPieces(
  graph: Graph,
  backend: LoweringBackend,
  { mode, precision, parameters, optimiser = {}, vectors = 'device', limit }: CompileGraphOptions
): Pieces<Program> {
  const pruned = yield* pruneInPieces(graph)
  yield
  const forward = yield* fuseInPieces(pruned)
  yield
  const unlowered = mode === 'train' ? yield* trainStep(forward, optimiser) : forwardStep(forward)
  yield
  // Parameters that are reordered together would all be fetched at once.
  const lowering = vectors === 'host' ? separateReorders(backend) : backend
  const lowered = yield* withPartialSums(yield* lower(unlowered, lowering, precision, parameters))
  yield
  const { step, plan: planned } = yield* placedStep(lowered, backend, { vectors, limit, parameters })
  const { scratchOffsets, ...placed } = planned
  let at = 0
  const finished = ({
    scratchBytes,
    kind,
    name,
    inputs,
    outputs,
    attributes,
    implementation,
    repeats
  }: LoweredStepOperator): LoweredOperator => ({
    kind,
    name,
    inputs,
    outputs,
    attributes,
    implementation,
    scratch: { bytes: scratchBytes, offset: scratchOffsets[at++]! },
    flops: operatorFlops({ kind, inputs, outputs, attributes }, step.values),
    ...(repeats && { repeats })
  })
  const segments: Record<SegmentName, LoweredOperator[]> = { load: [], forward: [], backward: [], exchange: [], update: [] }
  for (const segment of SEGMENTS) {
    for (const operator of step.segments[segment]) {
      segments[segment].push(finished(operator))
      yield
    }
  }
  return {
    name: `${graph.name}.${mode}`,
    backend: backend.name,
    precision,
    batch: graph.batch,
    segments,
    named: step.named,
    ...placed
  }
}

function* placedStep(
  lowered: LoweredStep,
  backend: LoweringBackend,
  {
    vectors,
    limit,
    parameters
  }: { readonly vectors: 'device' | 'host'; readonly limit: MemoryLimit | undefined; readonly parameters: ParameterLayout | undefined }
): Pieces<PlacedStep> {
  if (limit) return yield* fit(lowered, backend, { ...limit, vectors }, parameters)
  const step = vectors === 'host' ? withMovedVectors(lowered) : lowered
  return { step, plan: yield* plan(step, backend, parameters) }
}

function separateReorders(backend: LoweringBackend): LoweringBackend {
  return {
    name: backend.name,
    ...(backend.layoutsOfAnyType !== undefined && { layoutsOfAnyType: backend.layoutsOfAnyType }),
    lower: (request) => backend.lower(request),
    bytes: (shape, type, layout) => backend.bytes(shape, type, layout)
  }
}

function* trainStep(graph: Graph, optimiser: OptimiserAttributes): Pieces<Step> {
  const update = wholeVector('update', updateAttributes(optimiser))
  const step = yield* differentiateInPieces(withGroups(graph, optimiser.groups ?? []))
  return { ...step, segments: { ...step.segments, exchange: [wholeVector('exchange')], update: [update] } }
}

function wholeVector(kind: 'exchange' | 'update', attributes: Operator['attributes'] = {}): Operator {
  return { kind, name: kind, inputs: [], outputs: [], attributes }
}
