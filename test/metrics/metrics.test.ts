import { expect } from 'chai'
import { targetMeans } from '../../src/metrics/deviation-tally.js'
import { ExactSum } from '../../src/metrics/exact-sum.js'
import { checkSuits, METRIC_NAMES, usualMetrics, type MetricName, type Task } from '../../src/metrics/metric-names.js'
import { metricsOf, tallyOf, type EvaluationMetrics, type MetricPlan } from '../../src/metrics/metrics.js'
import { refused } from '../support/codes.js'

const CLASSES: readonly MetricName[] = ['confusion', 'perClass', 'precision', 'recall', 'f1', 'iou', 'auc']
const NUMBERS: readonly MetricName[] = ['r2', 'mae', 'rmse']

/** Metrics of samples that are divided among evaluators: those of each, by their numbers. */
function measured(
  plan: MetricPlan,
  output: Float32Array,
  target: ArrayLike<number>,
  shares: readonly (readonly number[])[]
): EvaluationMetrics {
  const samples = shares.flat().length
  const [outputs, targets] = [output.length / samples, target.length / samples]
  const states = shares.map((share) => {
    const tally = tallyOf(plan)
    for (const i of share) {
      const own = Array.from({ length: targets }, (_, j) => target[i * targets + j]!)
      tally.add(output.subarray(i * outputs, (i + 1) * outputs), own)
    }
    return structuredClone(tally.counts)
  })
  return metricsOf(plan, states)
}

const all = (samples: number): number[] => Array.from({ length: samples }, (_, i) => i)

/** Logits whose largest is the answer. */
function logits(answers: readonly number[], classes: number): Float32Array {
  return Float32Array.from({ length: answers.length * classes }, (_, i) => (answers[Math.floor(i / classes)] === i % classes ? 1 : -1))
}

function classified(target: readonly number[], answers: readonly number[], classes: number): EvaluationMetrics {
  const plan: MetricPlan = { task: { kind: 'classes', size: classes, answers: 1 }, names: CLASSES }
  return measured(plan, logits(answers, classes), target, [all(target.length)])
}

/** A hash of whole numbers in 0 to 1. */
const noise = (i: number): number => Math.abs((Math.sin(12.9898 * i + 78.233) * 43758.5453) % 1)

describe('An exact sum', () => {
  it('does not depend on the order of the numbers, nor on how they are divided', () => {
    const numbers = all(300).map((i) => (noise(i) - 0.5) * 10 ** (60 * (noise(i + 1000) - 0.5)))
    const sumOf = (some: readonly number[]) => {
      const sum = new ExactSum()
      for (const number of some) sum.add(number)
      return sum
    }
    const whole = sumOf(numbers).value
    expect(sumOf(numbers.toSorted((a, b) => a - b)).value).to.equal(whole)
    const joined = [0, 1, 2].flatMap((part) => sumOf(numbers.filter((_, i) => i % 3 === part)).parts)
    expect(new ExactSum(joined).value).to.equal(whole)
  })

  it('is the nearest number in every order of the numbers, half of a bit and something among them', () => {
    for (const [numbers, nearest] of [
      [[1, 2 ** -53, 2 ** -107], 1 + 2 ** -52],
      [[1, 2 ** -53, -(2 ** -107)], 1],
      [[1, 2 ** -53], 1],
      [[1537330195646.6875, 937946524651154, -4503599627370496, 4.222557021614459e-17], -3564115772523695.5],
      [[-1.5, 2 ** -600, -(2 ** -53), -(2 ** -700)], -1.5]
    ] as const)
      for (const order of orders(numbers)) {
        const [first, ...rest] = order
        expect(new ExactSum([...new ExactSum(rest).parts, first!]).value).to.equal(nearest)
      }
  })

  it('loses nothing beside large numbers, and knows what is no number', () => {
    const sum = new ExactSum([1e300, 1, -1e300, 1e-300, 1e16, 1])
    expect(sum.value).to.equal(1e16 + 2)
    expect(new ExactSum([1, NaN, 2]).value).to.be.NaN
    expect(new ExactSum(new ExactSum([1, Infinity]).parts).value).to.equal(Infinity)
  })
})

function orders(numbers: readonly number[]): readonly (readonly number[])[] {
  if (numbers.length === 0) return [[]]
  return numbers.flatMap((number, i) => orders(numbers.toSpliced(i, 1)).map((rest) => [number, ...rest]))
}

describe('Metrics of classes', () => {
  it('are those of scikit-learn', () => {
    // The examples of sklearn.metrics.f1_score, precision_score, recall_score and confusion_matrix.
    const { confusion, precision, recall, f1 } = classified([0, 1, 2, 0, 1, 2], [0, 2, 1, 0, 0, 1], 3)
    expect(confusion).to.deep.equal([[2, 0, 0], [1, 0, 1], [0, 2, 0]]) // prettier-ignore
    expect([precision, recall, f1].map((value) => value!.toFixed(6))).to.deep.equal(['0.222222', '0.333333', '0.266667'])
    // That of sklearn.metrics.jaccard_score.
    const { iou, perClass } = classified([0, 1, 2], [0, 2, 2], 3)
    expect([perClass!.map((row) => row.iou), iou]).to.deep.equal([[1, 0, 0.5], 0.5])
  })

  it('agree with a count of their own over random answers, and leave out classes that do not occur', () => {
    const classes = 9
    const target = all(400).map((i) => Math.floor(7 * noise(i)))
    const answers = target.map((own, i) => (noise(i + 500) < 0.6 ? own : Math.floor(7.99 * noise(i + 900))))
    const { perClass, precision, recall, f1, iou, confusion } = classified(target, answers, classes)
    const count = (holds: (own: number, answer: number) => boolean) => target.filter((own, i) => holds(own, answers[i]!)).length
    const occurring = all(classes).filter((c) => target.includes(c) || answers.includes(c))
    expect(occurring).to.have.length.within(7, 8)
    const figures = occurring.map((c) => {
      const right = count((own, answer) => own === c && answer === c)
      const missed = count((own, answer) => own === c && answer !== c)
      const wrong = count((own, answer) => own !== c && answer === c)
      const p = right + wrong === 0 ? 0 : right / (right + wrong)
      const r = right + missed === 0 ? 0 : right / (right + missed)
      return { p, r, f: p + r === 0 ? 0 : (2 * p * r) / (p + r), j: right / (right + missed + wrong) }
    })
    const mean = (values: readonly number[]) => values.reduce((a, b) => a + b, 0) / values.length
    expect(precision).to.be.closeTo(mean(figures.map(({ p }) => p)), 1e-12)
    expect(recall).to.be.closeTo(mean(figures.map(({ r }) => r)), 1e-12)
    expect(f1).to.be.closeTo(mean(figures.map(({ f }) => f)), 1e-12)
    expect(iou).to.be.closeTo(mean(figures.map(({ j }) => j)), 1e-12)
    expect(perClass![8]).to.deep.equal({ class: 8, samples: 0, precision: null, recall: null, f1: null, iou: null })
    for (const a of all(classes))
      for (const b of all(classes)) expect(confusion![a]![b]).to.equal(count((own, answer) => own === a && answer === b))
  })

  it('are 0 where nothing is divided by nothing, for a class that occurs', () => {
    // Class 1 is never answered, class 2 is answered but is nobody's, class 3 does not occur.
    const { perClass, precision, recall, f1 } = classified([0, 0, 1, 0], [0, 0, 0, 2], 4)
    expect(perClass!.slice(1)).to.deep.equal([
      { class: 1, samples: 1, precision: 0, recall: 0, f1: 0, iou: 0 },
      { class: 2, samples: 0, precision: 0, recall: null, f1: 0, iou: 0 },
      { class: 3, samples: 0, precision: null, recall: null, f1: null, iou: null }
    ])
    expect(precision).to.equal(2 / 3 / 3)
    expect(recall).to.equal(2 / 3 / 3)
    expect(f1).to.equal(2 / 3 / 3)
  })

  it('are 0 for labels that are never true and never answered', () => {
    for (const size of [1, 2]) {
      const plan: MetricPlan = { task: { kind: 'labels', size, answers: 1 }, names: CLASSES.slice(1) }
      const never = measured(plan, Float32Array.of(-1, -2, -1, -3), [0, 0, 0, 0], [all(4 / size)])
      expect(never).to.deep.include({ precision: 0, recall: 0, f1: 0 })
      expect(never.perClass![0]).to.deep.equal({ class: 0, samples: 0, precision: null, recall: null, f1: null, iou: null })
    }
  })

  it('count a label that is never true and never answered as 0, as scikit-learn does', () => {
    // f1_score([[1,0,0],[1,1,0],[0,1,0]], [[1,0,0],[1,0,0],[0,1,0]], average='macro', zero_division=0), and the others.
    const plan: MetricPlan = { task: { kind: 'labels', size: 3, answers: 1 }, names: CLASSES.slice(1) }
    const { precision, recall, f1 } = measured(
      plan,
      Float32Array.of(1, -1, -1, 1, -1, -1, -1, 1, -1),
      [1, 0, 0, 1, 1, 0, 0, 1, 0],
      [all(3)]
    )
    expect(precision).to.be.closeTo(2 / 3, 1e-15)
    expect(recall).to.be.closeTo(1 / 2, 1e-15)
    expect(f1).to.be.closeTo(5 / 9, 1e-15)
  })

  it('take the first largest logit for the answer, as accuracy does', () => {
    const plan: MetricPlan = { task: { kind: 'classes', size: 3, answers: 1 }, names: ['confusion'] }
    expect(measured(plan, Float32Array.of(1, 1, 0, 2, 3, 3), [1, 1], [[0, 1]]).confusion).to.deep.equal([[0, 0, 0], [1, 1, 0], [0, 0, 0]]) // prettier-ignore
  })

  it('have a value for each label of yes-or-no answers; a single one is told by its positive answers', () => {
    const plan = (size: number): MetricPlan => ({
      task: { kind: 'labels', size, answers: 1 },
      names: size === 1 ? CLASSES : CLASSES.slice(1)
    })
    const one = measured(plan(1), Float32Array.of(2, -1, 0.5, -3, 1), [1, 1, 0, 0, 1], [[0, 3], [1, 2, 4]]) // prettier-ignore
    expect(one).to.deep.include({ confusion: [[1, 1], [1, 2]], precision: 2 / 3, recall: 2 / 3, f1: 2 / 3, iou: 0.5 }) // prettier-ignore
    const two = measured(plan(2), Float32Array.of(1, -1, 1, 1, -1, -1), [1, 0, 0, 1, 0, 1], [[0, 1, 2]])
    expect(two.perClass).to.deep.equal([
      { class: 0, samples: 1, precision: 0.5, recall: 1, f1: 2 / 3, iou: 0.5 },
      { class: 1, samples: 2, precision: 1, recall: 0.5, f1: 2 / 3, iou: 0.5 }
    ])
    expect(two).to.deep.include({ precision: 0.75, recall: 0.75, f1: 2 / 3 })
  })
})

describe('The area under the ROC curve', () => {
  const labelled = (size: number): MetricPlan => ({ task: { kind: 'labels', size, answers: 1 }, names: ['auc'] })
  const classes = (size: number): MetricPlan => ({ task: { kind: 'classes', size, answers: 1 }, names: ['auc'] })

  it('is that of scikit-learn', () => {
    // The example of sklearn.metrics.roc_auc_score, of one label and of two classes.
    const scores = [0.1, 0.4, 0.35, 0.8]
    expect(measured(labelled(1), Float32Array.from(scores), [0, 0, 1, 1], [all(4)]).auc).to.equal(0.75)
    const two = Float32Array.from(scores.flatMap((score) => [-score, score]))
    expect(measured(classes(2), two, [0, 0, 1, 1], [[0, 3], [1, 2]]).auc).to.equal(0.75) // prettier-ignore
  })

  it('is the share of pairs in the right order, the mean over classes, however samples are divided', () => {
    const size = 4
    const target = all(200).map((i) => Math.floor(3 * noise(i)))
    // On a coarse grid: some probabilities are equal.
    const output = Float32Array.from({ length: 200 * size }, (_, i) => Math.round(6 * noise(i + 3000)))
    const probability = (i: number, c: number) => {
      const powers = [...output.subarray(i * size, (i + 1) * size)].map(Math.exp)
      return Number((powers[c]! / powers.reduce((a, b) => a + b)).toFixed(12))
    }
    const area = (c: number) => {
      const [own, others] = [all(200).filter((i) => target[i] === c), all(200).filter((i) => target[i] !== c)]
      const order = (i: number, j: number) => (Math.sign(probability(i, c) - probability(j, c)) + 1) / 2
      return own.reduce((sum, i) => sum + others.reduce((wins, j) => wins + order(i, j), 0), 0) / (own.length * others.length)
    }
    // Class 3 has no samples.
    const { auc } = measured(classes(size), output, target, [all(200)])
    expect(auc).to.be.closeTo((area(0) + area(1) + area(2)) / 3, 1e-3)
    expect(measured(classes(size), output, target, [all(200).slice(70), all(70)]).auc).to.equal(auc)
  })

  it('ranks answers that are all as good as sure', () => {
    const sure = Float32Array.of(0, 60, 0, 80, 0, 70, 0, 90)
    expect(measured(classes(2), sure, [0, 1, 0, 1], [all(4)]).auc).to.equal(1)
    expect(measured(classes(2), sure, [1, 0, 1, 0], [all(4)]).auc).to.equal(0)
  })

  it('counts equal scores half, is 0 where samples are on one side alone, and no number where a score is none', () => {
    expect(measured(labelled(1), Float32Array.of(1, 1, 1), [0, 1, 1], [all(3)]).auc).to.equal(0.5)
    expect(measured(labelled(1), Float32Array.of(1, 2, 3), [1, 1, 1], [all(3)]).auc).to.equal(0)
    expect(measured(labelled(2), Float32Array.of(1, 9, 2, 1), [0, 1, 1, 1], [all(2)]).auc).to.equal(1)
    expect(measured(labelled(1), Float32Array.of(1, NaN, 3), [1, 0, 1], [all(3)]).auc).to.be.NaN
  })
})

describe('Metrics of numbers', () => {
  const deviating = (target: readonly number[], output: readonly number[], size = 1, shares = [all(target.length / size)]) => {
    const targets = Float32Array.from(target)
    const plan: MetricPlan = { task: { kind: 'numbers', size, answers: 1 }, names: NUMBERS, pivots: targetMeans(targets, size) }
    return measured(plan, Float32Array.from(output), targets, shares) as Required<Pick<EvaluationMetrics, 'r2' | 'mae' | 'rmse'>>
  }

  it('are those of scikit-learn, also of several outputs', () => {
    // The examples of sklearn.metrics.r2_score, mean_absolute_error and root_mean_squared_error.
    const one = deviating([3, -0.5, 2, 7], [2.5, 0, 2, 8])
    expect(one.r2).to.be.closeTo(0.9486081370449679, 1e-12)
    expect(one.mae).to.equal(0.5)
    expect(one.rmse).to.be.closeTo(0.6123724356957945, 1e-12)
    const two = deviating([0.5, 1, -1, 1, 7, -6], [0, 2, -1, 2, 8, -5], 2)
    expect(two.r2).to.be.closeTo(0.9368005266622779, 1e-12)
    expect(two.mae).to.equal(0.75)
    expect(two.rmse).to.be.closeTo((Math.sqrt(1.25 / 3) + 1) / 2, 1e-12)
  })

  it('say 1 of equal targets that are met, and 0 of those that are not', () => {
    for (const value of [0.1, 0, -1e20]) {
      expect(deviating([value, value, value], [value, value, value])).to.deep.equal({ r2: 1, mae: 0, rmse: 0 })
      expect(deviating([value, value, value], [value, value, 1]).r2).to.equal(0)
    }
    expect(deviating([2], [3])).to.deep.equal({ r2: 0, mae: 1, rmse: 1 })
  })

  it('keep their digits beside a mean that is large', () => {
    const spread = [0.25, -0.5, 0.75, -0.25, 0.5]
    const output = [0.25, -0.25, 0.5, -0.25, 0.25]
    const near = deviating(spread, output)
    const far = deviating(spread.map((value) => value + 2 ** 20), output.map((value) => value + 2 ** 20)) // prettier-ignore
    expect(far.r2).to.be.closeTo(near.r2, 1e-12)
    expect(far).to.include({ mae: near.mae, rmse: near.rmse })
  })

  it('are the same to the last bit, however the samples are divided among evaluators', () => {
    // Of so many magnitudes that a plain sum depends on its order.
    const target = all(600).map((i) => 10 ** (6 * noise(i)))
    const output = target.map((value, i) => value * (1 + 0.01 * (noise(i + 7000) - 0.5)))
    const alone = deviating(target, output, 3)
    const shares = [5, 2, 3].map((n) => Array.from({ length: n }, (_, k) => all(200).filter((i) => (i * 7) % n === k)))
    for (const share of shares) expect(deviating(target, output, 3, share)).to.deep.equal(alone)
    expect(alone.r2).to.be.within(0.99, 1)
  })
})

describe('The names of metrics', () => {
  const classes: Task = { kind: 'classes', size: 10, answers: 1 }
  const labels: Task = { kind: 'labels', size: 4, answers: 1 }
  const numbers: Task = { kind: 'numbers', size: 1, answers: 1 }

  it('suit a task, or are refused all at once', async () => {
    await refused(
      'INVALID_OPTION',
      () => checkSuits(['f1'], numbers),
      'metrics: received "f1"',
      'gives numbers, not classes',
      'r2, mae, rmse'
    )
    await refused('INVALID_OPTION', () => checkSuits(['r2'], classes), 'chooses among classes', 'confusion, perClass')
    await refused('INVALID_OPTION', () => checkSuits(['confusion'], labels), 'the model gives 4: use perClass')
    await refused('INVALID_OPTION', () => checkSuits(['confusion'], { kind: 'classes', size: 1001, answers: 1 }), 'at most 1000 classes')
    await refused('INVALID_OPTION', () => checkSuits(['auc'], { ...classes, answers: 12 }), 'one answer to a sample', 'gives 12')
    await refused('INVALID_OPTION', () => checkSuits(['auc'], { ...labels, size: 4096 }), 'at most 1000 labels')
    for (const task of [classes, numbers]) checkSuits(usualMetrics(task), task)
    expect(METRIC_NAMES.filter((name) => !usualMetrics(classes).includes(name))).to.deep.equal(NUMBERS)
    expect(usualMetrics({ kind: 'classes', size: 101, answers: 1 })).to.not.include('confusion')
  })
})
