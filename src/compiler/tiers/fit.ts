import { ArbalestError } from '../../errors.js'
import { NONE } from '../../model/graph.js'
import type { Pieces } from '../../turns.js'
import type { LoweredStep, LoweredStepOperator } from '../lower.js'
import { plan, type Plan } from '../plan.js'
import { SEGMENTS, type LoweringBackend, type ParameterLayout, type SegmentName } from '../program.js'
import { inOrder, present } from '../step.js'
import { operatorBytes, operatorCost, operatorFlops, type MachineSpeed } from './cost.js'
import { NO_CHOICES, repeatable, restore, type RepeatableStep, type Restorations, type Ways } from './restore.js'
import { simulate, withTime, type MeasuredStep, type StepTimeline } from './simulate.js'
import { FREED, Staging } from './stage.js'
import type { TransferSpeed } from './transfers.js'
import { withMovedVectors } from './vectors.js'

/** How much memory the activations of a step may take. */
export interface MemoryLimit {
  /** Bytes of the arena of activations. With 0 the step takes as little as it can, whatever that costs; a higher limit is kept or refused. */
  readonly activations: number
  /** From which the time of computing values again is predicted. */
  readonly speed: MachineSpeed
  /** Of the second tier; absent if nothing may be moved there. */
  readonly transfers?: TransferSpeed | undefined
  /** Forbids the other way of restoring values: for comparisons and tests. */
  readonly only?: keyof Ways | undefined
  /** False: values are fetched where they are needed, and stores are waited for, without a time ahead in which others compute: for comparisons. */
  readonly prefetch?: boolean | undefined
  /** Chooses in place of the search: for comparisons. */
  readonly rule?: StagingRule | undefined
}

/** What a step of `budget` bytes does not hold; undefined if the rule knows no way. */
export type StagingRule = (step: RepeatableStep, measured: MeasuredStep, budget: number) => Restorations | undefined

export interface PlacedStep {
  readonly step: LoweredStep
  readonly plan: Plan
}

/** Placing values leaves gaps: this often the choice is repeated with less to hold. */
const ATTEMPTS = 8

/** The least that a step can hold must not depend on how fast this machine happens to be. */
const NOMINAL: MachineSpeed = { flopsPerSecond: 1e11, bytesPerSecond: 1e10, cacheBytesPerSecond: 1e10, cacheBytes: 0 }
const NOMINAL_TRANSFERS: TransferSpeed = { storeBytesPerSecond: 1e9, fetchBytesPerSecond: 1e9, bothWays: false }

/**
 * Places a step within a limit: where it takes more, values are computed again or moved to the second tier instead of being held. What the original operators are, and their order, is
 * the same under every limit, and so is every bit that they compute. Throws OUT_OF_MEMORY, with `data.floor`, where the limit is not to be kept.
 */
export function* fit(
  step: LoweredStep,
  backend: LoweringBackend,
  {
    activations: budget,
    speed,
    transfers,
    only,
    prefetch = true,
    rule,
    vectors
  }: MemoryLimit & { readonly vectors?: 'device' | 'host' | undefined },
  parameters?: ParameterLayout
): Pieces<PlacedStep> {
  const { repeats, measuredAt } = yield* measure(step, backend)
  const placed = function* (timeline: StepTimeline): Pieces<FittedStep> {
    const restored = stagedStep(step, timeline)
    const staged = vectors === 'host' ? withMovedVectors(restored) : restored
    return { step: staged, plan: yield* plan(staged, backend, parameters), seconds: timeline.seconds, peak: timeline.peak }
  }
  const measured = { ...measuredAt(speed, transfers), prefetch }
  const whole = yield* placed(simulate(restore(repeats, NO_CHOICES), measured))
  if (bytesOf(whole) <= budget) return whole

  let fastest: FittedStep | undefined
  for (const search of budget > 0 ? searchesOf(repeats, measured, { activations: budget, transfers, only, rule }) : []) {
    let target = budget
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      const timeline = yield* search(target)
      if (!timeline) break
      const found = yield* placed(timeline)
      if (bytesOf(found) <= budget) {
        if (!fastest || found.seconds < fastest.seconds) fastest = found
        break
      }
      target = Math.min(target, found.peak) - (bytesOf(found) - budget)
    }
  }
  if (fastest) return fastest

  let least = whole
  for (const way of waysOf({ transfers, only })) {
    const staging = new Staging(repeats, measuredAt(NOMINAL, transfers && NOMINAL_TRANSFERS), FREED[0]!, way)
    yield* staging.reach(0)
    const smallest = yield* placed(staging.timeline)
    if (bytesOf(smallest) < bytesOf(least)) least = smallest
  }
  const floor = bytesOf(least)
  if (budget === 0 || (!rule && floor <= budget)) return least
  const message = `activations: received a limit of ${budget} bytes; ${step.name} takes at least ${floor}`
  throw new ArbalestError('OUT_OF_MEMORY', message, { data: { floor, limit: budget } })
}

/** Finds a timeline that holds at most so many bytes, but for the gaps that placing leaves. */
type Search = (target: number) => Pieces<StepTimeline | undefined>

function searchesOf(
  step: RepeatableStep,
  measured: MeasuredStep,
  { activations, rule, ...ways }: Pick<MemoryLimit, 'activations' | 'transfers' | 'only' | 'rule'>
): Search[] {
  if (rule) {
    const choices = rule(step, measured, activations)
    if (!choices) return []
    const restored = restore(step, choices)
    const tight = simulate(restored, measured)
    return [
      function* (target) {
        yield
        return withTime(restored, tight, measured, target)
      }
    ]
  }
  return FREED.flatMap((freed) =>
    waysOf(ways).map((way): Search => {
      const staging = new Staging(step, measured, freed, way)
      return function* (target) {
        return (yield* staging.reach(target)) ? yield* staging.trimmed(target) : undefined
      }
    })
  )
}

/** One way alone, or each by itself and both together: a search that has both does not always find what a search with one finds. */
function waysOf({ transfers, only }: Pick<MemoryLimit, 'transfers' | 'only'>): readonly Ways[] {
  const [computing, moving] = [
    { recompute: true, move: false },
    { recompute: false, move: true }
  ]
  if (!transfers || only === 'recompute') return [computing]
  return only === 'move' ? [moving] : [computing, moving, { recompute: true, move: true }]
}

interface FittedStep extends PlacedStep {
  /** Predicted. */
  readonly seconds: number
  /** Without the gaps that placing leaves. */
  readonly peak: number
}

function bytesOf({ plan: { arenas } }: FittedStep): number {
  return arenas.activations
}

/**
 * The sizes of a step's values; which of its operators may run again: those of the forward pass, which write activations only; and which values may be
 * moved: activations that the forward or the backward pass writes.
 */
function* measure(
  { values, segments, named }: LoweredStep,
  backend: LoweringBackend
): Pieces<{ repeats: RepeatableStep; measuredAt: (speed: MachineSpeed, transfers: TransferSpeed | undefined) => MeasuredStep }> {
  const operators = inOrder(segments)
  const sized = values.map(({ id, role, shape, form }) => ({ id, role, shape, bytes: backend.bytes(shape, form.type, form.layout) }))
  yield
  const names = new Set(Object.values(named))
  const writers = new Int32Array(values.length).fill(-1)
  const [first, end] = [segments.load.length, segments.load.length + segments.forward.length]
  for (let number = first; number < end; number++) {
    const outputs = present(operators[number]!.outputs)
    if (outputs.some((id) => values[id]!.role !== 'activation')) continue
    for (const id of outputs) if (!names.has(id)) writers[id] = number
  }
  const sources = new Int32Array(values.length).fill(NONE)
  for (let number = first; number < end + segments.backward.length; number++)
    for (const id of present(operators[number]!.outputs)) if (values[id]!.role === 'activation' && !names.has(id)) sources[id] = number
  const costs: { flops: number; bytes: number }[] = []
  for (const operator of operators) {
    const whole = operator.kind === 'exchange' || operator.kind === 'update'
    costs.push({ flops: whole ? 0 : operatorFlops(operator, values), bytes: operatorBytes(operator, sized) })
    yield
  }
  const measuredAt = (speed: MachineSpeed, transfers: TransferSpeed | undefined): MeasuredStep => ({
    values: sized,
    seconds: costs.map((cost) => operatorCost(cost, speed).seconds),
    named: [...names],
    transfers
  })
  return { repeats: repeatable(operators, writers, sources), measuredAt }
}

/** The lowered step of a timeline: what runs again and what is moved stands in the segment of the operator before which it does. */
function stagedStep(step: LoweredStep, { step: { operators, originals, staged, fetched } }: StepTimeline): LoweredStep {
  const names = new Set(step.values.map(({ name }) => name))
  const freeName = (name: string): string => {
    let free = name
    for (let i = 2; names.has(free); i++) free = `${name}.${i}`
    names.add(free)
    return free
  }
  const brought = new Set(fetched)
  const copies = originals.slice(step.values.length).map((original, i) => {
    const id = step.values.length + i
    const { shape, type, form, name } = step.values[original]!
    const copy = { id, role: 'activation' as const, shape, type, form }
    if (staged[id]) return { ...copy, name: freeName(`${name}.staged`), staged: true as const }
    return { ...copy, name: freeName(`${name}.${brought.has(id) ? 'fetched' : 'again'}`) }
  })
  const home = SEGMENTS.flatMap((segment) => step.segments[segment].map(() => segment))
  const segments: Record<SegmentName, LoweredStepOperator[]> = { load: [], forward: [], backward: [], exchange: [], update: [] }
  for (const { operator, number, slot } of operators)
    segments[home[slot]!].push(
      number === slot
        ? operator
        : number === NONE
          ? { ...operator, name: step.values[originals[operator.inputs[0]!]!]!.name }
          : { ...operator, name: `${operator.name}.again`, repeats: true }
    )
  return { ...step, values: [...step.values, ...copies], segments }
}
