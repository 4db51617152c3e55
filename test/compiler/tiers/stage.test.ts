import { expect } from 'chai'
import * as fc from 'fast-check'
import type { LoweredStepOperator } from '../../../src/compiler/lower.js'
import { repeatable, restore, type RepeatableStep } from '../../../src/compiler/tiers/restore.js'
import { simulate, type MeasuredStep, type StepTimeline } from '../../../src/compiler/tiers/simulate.js'
import { FREED, Staging } from '../../../src/compiler/tiers/stage.js'
import type { ValueId } from '../../../src/model/graph.js'
import { atOnce } from '../../../src/turns.js'

interface Case {
  readonly step: RepeatableStep
  readonly measured: MeasuredStep
  /** Values that may be dropped after their last reader in the forward pass. */
  readonly droppable: readonly (readonly [value: ValueId, after: number])[]
}

/**
 * A network whose layer i reads the value before it and maybe an older one; its gradient reads that of the next layer, what the layer has read and
 * perhaps what it has written.
 */
const anyCase: fc.Arbitrary<Case> = fc
  .array(
    fc.record({
      bytes: fc.integer({ min: 1, max: 16 }),
      seconds: fc.integer({ min: 1, max: 20 }),
      older: fc.integer({ min: 0, max: 9 }),
      readsOutput: fc.boolean()
    }),
    { minLength: 3, maxLength: 8 }
  )
  .map((layers) => {
    const count = layers.length
    // Value 0 is the input, 1 to count are the layers' outputs, and then come their gradients from the last layer's to the first one's.
    const sources = layers.map(({ older }, i) => (older < i ? [i, older] : [i]))
    const forward = sources.map((inputs, i) => operator(inputs, [i + 1]))
    const gradient = (layer: number) => 2 * count - layer
    const backward = layers.map((_, at) => {
      const layer = count - 1 - at
      const written = layers[layer]!.readsOutput ? [layer + 1] : []
      return operator([...(at > 0 ? [gradient(layer + 1)] : []), ...sources[layer]!, ...written], [gradient(layer)])
    })
    const operators = [...forward, ...backward]
    const sizes = [4, ...layers.map(({ bytes }) => bytes), ...layers.map(({ bytes }) => bytes).toReversed()]
    const writers = Int32Array.from(sizes, (_, id) => (id >= 1 && id <= count ? id - 1 : -1))
    const times = [...layers.map(({ seconds }) => seconds), ...layers.map(({ seconds }) => 2 * seconds).toReversed()]
    const lastRead = (id: number) => Math.max(id - 1, ...forward.map(({ inputs }, at) => (inputs.includes(id) ? at : -1)))
    return {
      step: repeatable(operators, writers),
      measured: {
        values: sizes.map((size, id) => ({ id, role: id === 0 ? 'input' : 'activation', bytes: 64 * size }) as const),
        seconds: times,
        named: []
      },
      droppable: layers.map((_, i) => [i + 1, lastRead(i + 1)] as const)
    }
  })

function operator(inputs: readonly ValueId[], outputs: readonly ValueId[]): LoweredStepOperator {
  return { kind: 'add', name: 'a', inputs, outputs, attributes: {}, scratchBytes: 0, inPlace: [], implementation: 'none' }
}

/** The fastest of all choices that hold at most `budget` bytes; undefined if there is none. */
function exhaustive({ step, measured, droppable }: Case, budget: number): StepTimeline | undefined {
  let best: StepTimeline | undefined
  for (let choice = 0; choice < 2 ** droppable.length; choice++) {
    const drops = new Map<number, Set<ValueId>>()
    for (const [i, [value, after]] of droppable.entries())
      if (choice & (1 << i)) drops.set(after, new Set([...(drops.get(after) ?? []), value]))
    const timeline = simulate(restore(step, { drops, moved: new Set() }), measured)
    if (timeline.peak <= budget && (!best || timeline.seconds < best.seconds)) best = timeline
  }
  return best
}

describe('what is computed again', () => {
  it('costs at most 1.1 times as much as the best choice, and goes almost as low', () => {
    let compared = 0
    fc.assert(
      fc.property(anyCase, fc.double({ min: 0, max: 1, noNaN: true }), (each, part) => {
        const stagings = FREED.map((freed) => new Staging(each.step, each.measured, freed))
        const whole = stagings[0]!.timeline.peak
        for (const staging of stagings) atOnce(staging.reach(0))
        const floor = Math.min(...stagings.map(({ timeline }) => timeline.peak))
        const best = exhaustive(each, floor + part * (whole - floor))
        expect(exhaustive(each, Math.floor(floor / 1.25) - 1)).to.equal(undefined)
        // It goes lower than any choice in which a value is computed again at most once.
        if (!best) return
        compared++
        const seconds = FREED.map((freed) => {
          const staging = new Staging(each.step, each.measured, freed)
          const reached = atOnce(staging.reach(best.peak))
          return reached ? atOnce(staging.trimmed(best.peak)).seconds : Infinity
        })
        expect(Math.min(...seconds) / best.seconds).to.be.at.most(1.1)
      }),
      { seed: 7, numRuns: 60 }
    )
    expect(compared).to.be.above(25)
  })
})
