import { buildGraphInPieces } from '../model/graph-builder.js'
import { elements, type Operator, type Role, type Value, type ValueId } from '../model/graph.js'
import type { Model } from '../model/model.js'
import { atOnce, type Pieces } from '../turns.js'
import { canonicalLowering } from './canonical.js'
import { compileInPieces, type CompileOptions } from './compile.js'
import { differentiateInPieces } from './differentiate.js'
import type { ElementType, LoweringBackend } from './program.js'
import { pruneInPieces } from './prune.js'
import { forwardStep, inOrder, present } from './step.js'

/**
 * Bytes of what a step's operators give, forwards and backwards, counted in float32 and canonical order. The samples count as what `load` gives;
 * gradients of parameters do not, for they lie in the gradients' vector; a reshaped value is no second one; positions in a window are bytes.
 */
export interface MemoryUse {
  /** With every layer an operator of its own, as it stands in the model. */
  readonly bytesUnfused: number
  /** With the Program's operators, each output in memory of its own. */
  readonly bytesUnshared: number
  /** With the Program's operators, outputs placed by their lifetimes. */
  readonly bytesPlanned: number
  /** 1 - bytesPlanned / bytesUnshared. */
  readonly saving: number
}

/** What `compile` makes of the model, counted. Throws what `compile` throws. */
export function memoryUse(model: Model, backend: LoweringBackend, options: CompileOptions): MemoryUse {
  return atOnce(memoryUseInPieces(model, backend, options))
}

/** The same, an operator at a time. */
export function* memoryUseInPieces(model: Model, backend: LoweringBackend, options: CompileOptions): Pieces<MemoryUse> {
  const { batch, mode, loss = 'model' } = options
  const graph = yield* pruneInPieces(yield* buildGraphInPieces(model, { batch, mode, loss }))
  const unfused = mode === 'train' ? yield* differentiateInPieces(graph) : forwardStep(graph)
  const program = yield* compileInPieces(model, canonicalLowering(backend), { ...options, precision: 'f32' })
  const bytesUnshared = outputBytes(inOrder(program.segments), (id) => program.values[id]!)
  const bytesPlanned = program.arenas.activations
  return {
    bytesUnfused: outputBytes(inOrder(unfused.segments), (id) => unfused.values[id]!),
    bytesUnshared,
    bytesPlanned,
    saving: bytesUnshared > 0 ? 1 - bytesPlanned / bytesUnshared : 0
  }
}

interface Counted {
  readonly role: Role
  readonly shape: readonly number[]
  readonly type: Value['type'] | ElementType
}

function outputBytes(operators: readonly Operator[], value: (id: ValueId) => Counted): number {
  const bytes = ({ shape, type }: Counted): number => elements(shape) * (type === 'position' || type === 'u8' ? 1 : 4)
  return operators
    .filter(({ kind }) => kind !== 'reshape')
    .flatMap(({ outputs }) => present(outputs).map(value))
    .filter(({ role }) => role !== 'parameterGradient' && role !== 'statistic')
    .reduce((sum, output) => sum + bytes(output), 0)
}
