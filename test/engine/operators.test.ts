import { expect } from 'chai'
import type { EngineBackend, Precision } from '../../src/compiler/program.js'
import { seldom } from '../support/seldom.js'
import { skip } from '../support/skip.js'
import { testedBackends } from './support/backends.js'
import { backwardProblem, forwardProblem, hasBackward, type Problem } from './support/backward-case.js'
import { BoundOperator, runOnce, type BindOptions } from './support/bound-operator.js'
import { gradientFaults, isSmall } from './support/finite-differences.js'
import { deviations, expectNone, type Magnitude } from './support/magnitudes.js'
import { activation, label, present, wide, type OperatorCase, type Values } from './support/operator-case.js'
import { harmed, maySeeNaNOtherwise, nanFaults, type Harmed } from './support/not-a-number.js'
import { operatorTable } from './support/operator-table.js'
import { sequenceRows } from './support/sequence-rows.js'

/** Of the sum of |a * b|. */
const TOLERANCE: Record<Precision, number> = { f32: 1e-5, bf16: 1e-2, f64: 0 }
/** How images are offered to a backend: as it likes, and in each layout that its own kernels know. */
const LAYOUTS: Record<EngineBackend, readonly (string | null)[]> = {
  reference: [null],
  cpu: [null, 'plain', 'nhwc', 'nChw8c', 'nChw16c'],
  cuda: [null, 'plain'],
  'cuda-host': [null, 'plain']
}

interface Expected extends Problem {
  readonly outputs: Values
  readonly magnitudes: Values
}

/** A problem's answer in double from the reference, made when first asked for. */
function answers(problems: (precision: Precision) => Problem[], magnitude: Magnitude): (precision: Precision) => Expected[] {
  const known = new Map<Precision, Expected[]>()
  return (precision) => {
    const found = known.get(precision)
    if (found) return found
    const expected = problems(precision).map(({ use, values }) => {
      const { outputs } = runOnce('reference', 'f64', use, values)
      return { use, values, outputs, magnitudes: magnitude(use, values, outputs) }
    })
    known.set(precision, expected)
    return expected
  }
}

/**
 * Outputs that have other bits on the stand-in's device 1, which begins with the last thread. On a GPU they depend on which thread is the first: a
 * meeting is missing between one that writes and one that reads.
 */
function faultsOfOrder(precision: Precision, { use, values }: Problem, options: BindOptions, outputs: Values): string[] {
  const backwards = new BoundOperator('cuda-host', precision, use, { ...options, device: 1 })
  try {
    const found = backwards.run(values).outputs
    return Object.entries(outputs).flatMap(([name, numbers]) =>
      numbers.every((number, i) => Object.is(number, found[name]![i])) ? [] : [`${use.name}: ${name} depends on the order of threads`]
    )
  } finally {
    backwards.release()
  }
}

/** What is wrong with a backend's answer: values, padding, memory behind; also with outputs laid over the inputs that it offers for it. */
function faultsOf(backend: EngineBackend, precision: Precision, layout: string | null, expected: Expected): string[] {
  const { use, values, outputs, magnitudes } = expected
  const run = (inPlace?: readonly [string, string]): { faults: string[]; pairs: (readonly [string, string])[] } => {
    const options = { layout, ...(inPlace && { inPlace }) }
    const bound = new BoundOperator(backend, precision, use, options)
    try {
      const found = bound.run(values)
      const faults = [...deviations(use, found.outputs, outputs, magnitudes, TOLERANCE[precision]), ...found.faults]
      // One layout is enough: the kernels are the same.
      if (backend === 'cuda-host' && layout === null) faults.push(...faultsOfOrder(precision, expected, options, found.outputs))
      const pairs = bound.answer.inPlace.map(([o, i]) => [Object.keys(use.outputs)[o]!, Object.keys(use.inputs)[i]!] as const)
      return { faults: inPlace ? faults.map((fault) => `${inPlace.join(' over ')}: ${fault}`) : faults, pairs }
    } finally {
      bound.release()
    }
  }
  const apart = run()
  // Values of one name are one value already.
  const pairs = apart.pairs.filter(([output, input]) => output !== input && use.outputs[output] && use.inputs[input])
  return [...apart.faults, ...pairs.flatMap((pair) => run(pair).faults)]
}

function testOperator(problems: (precision: Precision) => Problem[], magnitude: Magnitude, layouts: typeof LAYOUTS): void {
  const expected = answers(problems, magnitude)
  for (const { name: backend, available, detail, precisions } of testedBackends()) {
    if (!available) throw new Error(`the ${backend} backend is missing: ${detail}`)
    for (const precision of ['f32', 'bf16'] as const) {
      if (!precisions.includes(precision)) {
        it.skip(`${backend} in ${precision}: not run, for this processor has no ${precision}`)
        continue
      }
      for (const layout of layouts[backend]) {
        it(`${backend} in ${precision}${layout ? ` from ${layout}` : ''}`, () => {
          expectNone(expected(precision).flatMap((each) => faultsOf(backend, precision, layout, each)))
        })
      }
    }
  }
}

describe('operators', function () {
  // Under a sanitizer a GPU takes its time.
  this.timeout(process.env['ARBALEST_TEST_GPU'] ? 600_000 : 60_000)

  for (const given of [...operatorTable, ...sequenceRows]) {
    const row = { ...given, cases: given.cases.filter((use) => seldom.tested || !use.seldom) }
    const images = row.cases.some((use) => present({ ...use.inputs, ...use.outputs }).some(([, port]) => port.shape.length === 4))
    const layouts = images ? LAYOUTS : { reference: [null], cpu: [null], cuda: [null], 'cuda-host': [null] }
    describe(row.kind, () => {
      testOperator((precision) => row.cases.map((use) => forwardProblem(row, use, precision)), row.magnitude, layouts)

      let withoutNumbers: readonly Harmed[] = []
      before(() => (withoutNumbers = row.cases.flatMap((use) => harmed(forwardProblem(row, use, 'f32')))))
      after(() => (withoutNumbers = []))
      // As the reference does.
      for (const { name: backend } of testedBackends().filter(({ name }) => name !== 'reference'))
        it(`${backend} keeps what is no number`, () => {
          expect(row.cases.every((use) => maySeeNaNOtherwise(backend, { ...use, kind: row.kind }))).to.equal(false)
          expectNone(
            nanFaults(
              backend,
              withoutNumbers.filter(({ use }) => !maySeeNaNOtherwise(backend, use))
            )
          )
        })
    })
    for (const backward of row.backward) {
      const cases = row.cases.filter((use) => hasBackward(row, use))
      describe(backward.kind, () => {
        testOperator((precision) => cases.map((use) => backwardProblem(row, backward, use, precision)), backward.magnitude, layouts)

        it('is the derivative of its forward operator', () => {
          // Where values are equal the maximum has no derivative.
          const small = cases.filter((use) => isSmall(use) && !use.name.endsWith('with ties'))
          expect(small).not.to.be.empty
          expectNone(small.flatMap((use) => gradientFaults(row, backward, use)))
        })
      })
    }
  }

  // More classes than a kernel's threads, so that a thread has such classes alone, several of them, and others besides.
  for (const { name: backend } of testedBackends())
    it(`${backend} gives classes whose logits are minus infinity no probability`, () => {
      const classes = 600
      const use: OperatorCase = {
        kind: 'softmaxCrossEntropy',
        name: 'minus infinity',
        attributes: {},
        inputs: { logits: activation(1, classes), target: label(classes, 1) },
        outputs: { loss: wide(1), differences: activation(1, classes) }
      }
      const logits = Float64Array.from({ length: classes }, (_, k) => (k % 256 < 100 || k > 500 ? -Infinity : 0))
      const counting = logits.filter((logit) => logit === 0).length
      const { loss, differences } = runOnce(backend, 'f32', use, { logits, target: Float64Array.of(200) }).outputs
      expect(loss![0]).to.be.closeTo(Math.log(counting), 1e-5)
      for (const [k, difference] of differences!.entries())
        expect(difference, `class ${k}`).to.be.closeTo((logits[k] === 0 ? 1 / counting : 0) - (k === 200 ? 1 : 0), 1e-7)
    })

  for (const { name: backend, precisions } of testedBackends())
    it(`${backend} gives in bfloat16 the gradient of a sample that is classified surely to bfloat16's precision`, function () {
      if (!precisions.includes('bf16')) skip(this, 'this processor has no bf16')
      const [logits, target] = [activation(1, 10), label(10, 1)]
      const [forward, backward] = ['softmaxCrossEntropy', 'softmaxCrossEntropyBackward'] as const
      const name = 'sure'
      const gradient = (of: EngineBackend, precision: Precision): Float64Array => {
        const given = { logits: Float64Array.from({ length: 10 }, (_, k) => (k === 3 ? 9 : 0)), target: Float64Array.of(3) }
        const outputs = { loss: wide(1), differences: logits }
        const { differences } = runOnce(
          of,
          precision,
          { kind: forward, name, attributes: {}, inputs: { logits, target }, outputs },
          given
        ).outputs
        const use = { kind: backward, name, attributes: {}, inputs: { differences: logits, target }, outputs: { glogits: logits } }
        return runOnce(of, precision, use, { differences: differences!, target: given.target }).outputs['glogits']!
      }
      const [found, expected] = [gradient(backend, 'bf16'), gradient('reference', 'f64')]
      for (const [k, value] of found.entries()) expect(value / expected[k]!, `class ${k}`).to.be.closeTo(1, 0.01)
    })

  for (const { name: backend } of testedBackends())
    it(`${backend} gives the loss of a sample that is classified surely, and its gradient, to their last digits`, () => {
      const logits = activation(1, 10)
      const use: OperatorCase = {
        kind: 'softmaxCrossEntropy',
        name: 'surely',
        attributes: {},
        inputs: { logits, target: label(10, 1) },
        outputs: { loss: wide(1), differences: logits }
      }
      const given = { logits: Float64Array.from({ length: 10 }, (_, k) => (k === 3 ? 20 : 0)), target: Float64Array.of(3) }
      const { loss, differences } = runOnce(backend, 'f32', use, given).outputs
      const others = 9 * Math.exp(-20)
      expect(loss![0]! / Math.log1p(others)).to.be.closeTo(1, 1e-5)
      expect(differences![3]! / (-others / (1 + others))).to.be.closeTo(1, 1e-5)
    })

  // By their distances from the highest: a sum of the logits themselves would be infinite, or lose the distances.
  for (const { name: backend } of testedBackends())
    for (const offset of [1e6, 3e38])
      it(`${backend} smooths the targets of logits around ${offset}`, () => {
        const classes = 600
        const use: OperatorCase = {
          kind: 'softmaxCrossEntropy',
          name: 'large',
          attributes: { smoothing: 0.5 },
          inputs: { logits: activation(1, classes), target: label(classes, 1) },
          outputs: { loss: wide(1), differences: activation(1, classes) }
        }
        const logits = Float64Array.from({ length: classes }, (_, k) => (offset === 1e6 ? offset + (k % 2) : offset))
        const mean = offset === 1e6 ? -0.5 : 0
        const sum = offset === 1e6 ? (classes / 2) * (1 + Math.exp(-1)) : classes
        const { loss } = runOnce(backend, 'f32', use, { logits, target: Float64Array.of(201) }).outputs
        expect(loss![0]).to.be.closeTo(Math.log(sum) - 0.5 * mean, 1e-5)
      })

  for (const { name: backend } of testedBackends())
    for (const [what, kind, attributes] of [
      ['gelu', 'gelu', { approximate: 0 }],
      ['gelu by tanh', 'gelu', { approximate: 1 }],
      ['silu', 'silu', {}],
      ['hard swish', 'hardSwish', {}]
    ] as const)
      it(`${backend} gives ${what} of the largest numbers as finite`, () => {
        const use: OperatorCase = { kind, name: 'large', attributes, inputs: { x: activation(4) }, outputs: { y: activation(4) } }
        const { y } = runOnce(backend, 'f32', use, { x: Float64Array.of(3e38, 1e38, -3e38, 0) }).outputs
        expect(Array.from(y!, Math.abs)).to.deep.equal([3e38, 1e38, 0, 0].map(Math.fround))
      })

  for (const { name: backend } of testedBackends())
    for (const [what, kind, attributes] of [
      ['gelu', 'geluBackward', { approximate: 0 }],
      ['gelu by tanh', 'geluBackward', { approximate: 1 }],
      ['silu', 'siluBackward', {}],
      ['hard swish', 'hardSwishBackward', {}]
    ] as const)
      it(`${backend} gives the gradient of ${what} at the largest numbers as finite`, () => {
        const [x, gy] = [activation(4), activation(4)]
        const use: OperatorCase = { kind, name: 'large', attributes, inputs: { x, gy }, outputs: { gx: activation(4) } }
        const { gx } = runOnce(backend, 'f32', use, {
          x: Float64Array.of(3e38, 1e20, -1e20, -3e38),
          gy: Float64Array.of(1, 2, 3, 4)
        }).outputs
        expect(Array.from(gx!, Math.abs)).to.deep.equal([1, 2, 0, 0])
      })
})
