import { ArbalestError } from '../../errors.js'

import type { Pieces } from '../../turns.js'
import type { LoweredStep, LoweredStepOperator } from '../lower.js'
import { plan, type Plan } from '../plan.js'
import { SEGMENTS, type LoweringBackend, type ParameterLayout, type SegmentName } from '../program.js'
import { inOrder, present } from '../step.js'
import { operatorBytes, operatorCost, operatorFlops, type MachineSpeed } from './cost.js'
import { recompute, repeatable, type RepeatableStep } from './recompute.js'
import { simulate, type MeasuredStep, type StepTimeline } from './simulate.js'
import { FREED, Staging } from './stage.js'

/** How much memory the activations of a step may take. */
export interface MemoryLimit {
  /** Bytes of the arena of activations. With 0 the step takes as little as it can, whatever that costs; a higher limit is kept or refused. */
  readonly activations: number
  /** From which the time of computing values again is predicted. */
  readonly speed: MachineSpeed
}

export interface PlacedStep {
  readonly step: LoweredStep
  readonly plan: Plan
}

/** Placing values leaves gaps: this often the choice is repeated with less to hold. */
const ATTEMPTS = 8

/** The least that a step can hold must not depend on how fast this machine happens to be. */
const NOMINAL: MachineSpeed = { flopsPerSecond: 1e11, bytesPerSecond: 1e10, cacheBytesPerSecond: 1e10, cacheBytes: 0 }

/**
 * Places a step within a limit: where it takes more, values are computed again instead of being held. What the original operators are, and their order, is
 * the same under every limit, and so is every bit that they compute. Throws OUT_OF_MEMORY, with `data.floor`, where the limit is not to be kept.
 */
export function* fit(
  step: LoweredStep,
  backend: LoweringBackend,
  { activations: budget, speed }: MemoryLimit,
  parameters?: ParameterLayout
): Pieces<PlacedStep> {
  const { repeats, measuredAt } = yield* measure(step, backend)
  const placed = function* (timeline: StepTimeline): Pieces<FittedStep> {
    const staged = stagedStep(step, timeline)
    return { step: staged, plan: yield* plan(staged, backend, parameters), seconds: timeline.seconds, peak: timeline.peak }
  }
  const measured = measuredAt(speed)
  const whole = yield* placed(simulate(recompute(repeats, new Map()), measured))
  if (bytesOf(whole) <= budget) return whole

  let fastest: FittedStep | undefined
  for (const freed of budget > 0 ? FREED : []) {
    const staging = new Staging(repeats, measured, freed)
    let target = budget
    for (let attempt = 0; attempt < ATTEMPTS && (yield* staging.reach(target)); attempt++) {
      const found = yield* placed(yield* staging.trimmed(target))
      if (bytesOf(found) <= budget) {
        if (!fastest || found.seconds < fastest.seconds) fastest = found
        break
      }
      target = Math.min(target, found.peak) - (bytesOf(found) - budget)
    }
  }
  if (fastest) return fastest

  const staging = new Staging(repeats, measuredAt(NOMINAL), FREED[0]!)
  yield* staging.reach(0)
  const smallest = yield* placed(staging.timeline)
  const least = bytesOf(smallest) < bytesOf(whole) ? smallest : whole
  const floor = bytesOf(least)
  if (budget === 0 || floor <= budget) return least
  const message = `activations: received a limit of ${budget} bytes; ${step.name} takes at least ${floor}`
  throw new ArbalestError('OUT_OF_MEMORY', message, { data: { floor, limit: budget } })
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

/** The sizes of a step's values, and which of its operators may run again: those of the forward pass, which write activations only. */
function* measure(
  { values, segments, named }: LoweredStep,
  backend: LoweringBackend
): Pieces<{ repeats: RepeatableStep; measuredAt: (speed: MachineSpeed) => MeasuredStep }> {
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
  const costs: { flops: number; bytes: number }[] = []
  for (const operator of operators) {
    const whole = operator.kind === 'exchange' || operator.kind === 'update'
    costs.push({ flops: whole ? 0 : operatorFlops(operator, values), bytes: operatorBytes(operator, sized) })
    yield
  }
  const measuredAt = (speed: MachineSpeed): MeasuredStep => ({
    values: sized,
    seconds: costs.map((cost) => operatorCost(cost, speed).seconds),
    named: [...names]
  })
  return { repeats: repeatable(operators, writers), measuredAt }
}

/** The lowered step of a timeline: what runs again stands in the segment of the operator before which it does. */
function stagedStep(step: LoweredStep, { step: { operators, originals } }: StepTimeline): LoweredStep {
  const names = new Set(step.values.map(({ name }) => name))
  const freeName = (name: string): string => {
    let free = `${name}.again`
    for (let i = 2; names.has(free); i++) free = `${name}.again.${i}`
    names.add(free)
    return free
  }
  const copies = originals.slice(step.values.length).map((original, i) => {
    const { shape, type, form, name } = step.values[original]!
    return { id: step.values.length + i, name: freeName(name), role: 'activation' as const, shape, type, form }
  })
  const home = SEGMENTS.flatMap((segment) => step.segments[segment].map(() => segment))
  const segments: Record<SegmentName, LoweredStepOperator[]> = { load: [], forward: [], backward: [], exchange: [], update: [] }
  for (const { operator, number, slot } of operators)
    segments[home[slot]!].push(number === slot ? operator : { ...operator, name: `${operator.name}.again`, repeats: true })
  return { ...step, values: [...step.values, ...copies], segments }
}
