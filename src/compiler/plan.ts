import { elements, type Value, type ValueId } from '../model/graph.js'
import { livesOf } from './living.js'
import type { LoweredStep, LoweredStepOperator } from './lower.js'
import { aligned, packInPieces, TRANSFER_UNIT, type Block } from './pack.js'
import type { Arena, LoweringBackend, ParameterLayout, PlacedParameter, PlacedValue, Placement } from './program.js'
import type { Pieces } from '../turns.js'
import { MemorySharing, type Lives } from './share.js'
import { inOrder } from './step.js'

export interface Plan {
  readonly values: readonly PlacedValue[]
  /** Where each operator's scratch lies, operators counted over all segments. */
  readonly scratchOffsets: readonly number[]
  readonly parameters: ParameterLayout
  readonly arenas: Readonly<Record<Arena, number>>
}

type PlacedBefore = Omit<PlacedValue, 'placement'> & { readonly staged?: true }

/**
 * A place for every value. Parameters lie as `parameters` says or, in the model's order but for groups of the optimiser, one after another; gradients lie alike in
 * their own arena, in the second tier if transfers move them; statistics follow each other. All else shares one arena by lifetimes.
 */
export function* plan(step: LoweredStep, backend: LoweringBackend, parameters?: ParameterLayout): Pieces<Plan> {
  const operators = inOrder(step.segments)
  const values: PlacedBefore[] = []
  for (const { id, name, role, shape, form, staged } of step.values) {
    const bytes = backend.bytes(shape, form.type, form.layout)
    values.push({ id, name, role, shape, ...form, bytes, ...(staged && { staged }) })
    yield
  }
  const layout = parameters ?? layParameters(values, step.values)
  const activations = yield* planActivations(step, values, operators)
  const statistics = layInOrder(values.filter(({ role }) => role === 'statistic'))
  const offsets = new Map(layout.parameters.map(({ name, offset }) => [name, offset]))
  const always = { from: 0, until: Math.max(0, operators.length - 1) }
  const ofVectors = movedVectors(values, operators) ? 'host' : 'device'
  const place = ({ id, name, role, staged }: PlacedBefore): Placement => {
    if (staged) return { tier: 'host', arena: 'staged', ...activations.staged.places.get(id)! }
    if (role === 'parameter') return { tier: ofVectors, arena: 'weights', offset: offsets.get(name)!, ...always }
    if (role === 'parameterGradient')
      return { tier: ofVectors, arena: 'gradients', offset: offsets.get(name.slice(0, -'.gradient'.length))!, ...always }
    if (role === 'statistic') return { tier: 'device', arena: 'statistics', offset: statistics.offsets.get(id)!, ...always }
    return { tier: 'device', arena: 'activations', ...activations.places.get(id)! }
  }
  return {
    values: values.map((value) => {
      const { staged: _, ...placed } = value
      return { ...placed, placement: place(value) }
    }),
    scratchOffsets: activations.scratchOffsets,
    parameters: layout,
    arenas: {
      weights: layout.bytes,
      gradients: values.some(({ role }) => role === 'parameterGradient') ? layout.bytes : 0,
      statistics: statistics.bytes,
      activations: activations.bytes,
      staged: activations.staged.bytes
    }
  }
}

/** Whether parameters and their gradients lie in the second tier: transfers move them then. */
function movedVectors(values: readonly PlacedBefore[], operators: readonly LoweredStepOperator[]): boolean {
  return operators.some(({ kind, inputs }) => kind === 'fetch' && values[inputs[0]!]!.role === 'parameter')
}

function layInOrder(values: readonly PlacedBefore[]): { offsets: ReadonlyMap<ValueId, number>; bytes: number } {
  const offsets = new Map<ValueId, number>()
  let bytes = 0
  for (const value of values) {
    offsets.set(value.id, bytes)
    bytes += aligned(value.bytes)
  }
  return { offsets, bytes }
}

/**
 * Groups of the optimiser come first, each in one piece: what is stepped alike is stepped in one pass. Backward writes the front of the vector last, and a small group, such as that of
 * all biases, is whole only then.
 */
function layParameters(values: readonly PlacedBefore[], told: readonly Pick<Value, 'name' | 'frozen' | 'group'>[]): ParameterLayout {
  const parameters = values.filter(({ role }) => role === 'parameter')
  const canonical = new Map<ValueId, number>()
  let length = 0
  for (const { id, shape } of parameters) {
    canonical.set(id, length)
    length += elements(shape)
  }
  const byName = new Map(told.map((value) => [value.name, value]))
  const groupOf = ({ name }: PlacedBefore): number => byName.get(name)?.group ?? Infinity
  const inGroups = parameters.toSorted((a, b) => (groupOf(a) === groupOf(b) ? 0 : groupOf(a) - groupOf(b)))
  const vector = layInOrder(inGroups)
  const placed = inGroups.map(({ id, name, shape, type, layout, bytes }): PlacedParameter => {
    const { frozen, group } = byName.get(name)!
    const place = { name, shape, type, layout, offset: vector.offsets.get(id)!, bytes, canonical: canonical.get(id)! }
    return { ...place, ...(frozen && { frozen }), ...(group !== undefined && { group }) }
  })
  return { parameters: placed, bytes: vector.bytes, elements: length }
}

interface ActivationPlan {
  readonly places: Places
  readonly scratchOffsets: readonly number[]
  readonly bytes: number
  /** Values of the second tier. */
  readonly staged: { readonly places: Places; readonly bytes: number }
}

type Places = ReadonlyMap<ValueId, { offset: number; from: number; until: number }>

function* planActivations(
  step: LoweredStep,
  values: readonly PlacedBefore[],
  operators: readonly LoweredStepOperator[]
): Pieces<ActivationPlan> {
  const lives = livesOf(values, operators, Object.values(step.named))
  const sharing = new MemorySharing(lives)
  for (const [at, operator] of operators.entries()) {
    sharing.visit(operator, at)
    yield
  }
  const moved = new Set(operators.flatMap(({ kind, inputs, outputs }) => (kind === 'store' ? inputs : kind === 'fetch' ? outputs : [])))
  const groups = sharing.groups().map((group) => (group.members.some((id) => moved.has(id)) ? { ...group, unit: TRANSFER_UNIT } : group))
  const scratch = operators.flatMap(({ scratchBytes }, at): Block[] =>
    scratchBytes > 0 ? [{ bytes: scratchBytes, from: at, until: at }] : []
  )
  const packed = yield* packInPieces([...groups, ...scratch])
  const lifeOf = (id: ValueId) => ({ from: lives.from[id]!, until: lives.until[id]! })
  const places = new Map(groups.flatMap(({ members }, i) => members.map((id) => [id, { offset: packed.offsets[i]!, ...lifeOf(id) }])))
  let next = groups.length
  return {
    places,
    scratchOffsets: operators.map(({ scratchBytes }) => (scratchBytes > 0 ? packed.offsets[next++]! : 0)),
    bytes: packed.bytes,
    staged: yield* planStaged(values, lives)
  }
}

/** Places in the second tier: from the operator that stores a value to the last one that waits for it. */
function* planStaged(values: readonly PlacedBefore[], { from, until }: Lives): Pieces<ActivationPlan['staged']> {
  const staged = values.filter((value) => value.staged)
  const blocks = staged.map(({ id, bytes }) => ({ bytes, from: from[id]!, until: until[id]!, unit: TRANSFER_UNIT }))
  const { offsets, bytes } = yield* packInPieces(blocks)
  return { places: new Map(staged.map(({ id }, i) => [id, { offset: offsets[i]!, from: from[id]!, until: until[id]! }])), bytes }
}
