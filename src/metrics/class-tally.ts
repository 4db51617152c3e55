import { NO_CLASS } from '../model/graph.js'
import type { MetricName, Task } from './metric-names.js'
import { ScoreTally, type ScoredBatch } from './score-tally.js'

/** Counts by class or label; each is whole. */
export interface ClassCounts {
  /** Samples of the class. */
  readonly samples: Float64Array
  /** Answers of the class. */
  readonly answers: Float64Array
  /** Right answers of the class. */
  readonly right: Float64Array
  /** (classes, classes): samples of one class that were taken for another. */
  readonly confusion: Float64Array | undefined
  /** How sure the answers are, if it is asked for. */
  readonly scored: readonly ScoredBatch[] | undefined
}

interface Ratios {
  readonly class: number
  readonly samples: number
  readonly precision: number | null
  readonly recall: number | null
  readonly f1: number | null
  readonly iou: number | null
}

/** Counts answers by class. A yes is a logit above 0, and is right where its target is above 1/2; the answer among classes is the first largest logit. */
export class ClassTally {
  readonly #task: Task
  readonly #counts: Omit<ClassCounts, 'scored'>
  readonly #scores: ScoreTally | undefined

  constructor({ task, names }: { readonly task: Task; readonly names: readonly MetricName[] }, scored: readonly ScoredBatch[] = []) {
    const { size } = task
    this.#task = task
    const matrix = task.kind === 'labels' ? 2 : size
    this.#counts = {
      samples: new Float64Array(size),
      answers: new Float64Array(size),
      right: new Float64Array(size),
      confusion: names.includes('confusion') ? new Float64Array(matrix * matrix) : undefined
    }
    this.#scores = names.includes('auc') ? new ScoreTally(task, scored) : undefined
  }

  static joined(plan: { readonly task: Task; readonly names: readonly MetricName[] }, states: readonly ClassCounts[]): ClassTally {
    const tally = new ClassTally(
      plan,
      states.flatMap(({ scored = [] }) => scored)
    )
    for (const state of states)
      for (const name of ['samples', 'answers', 'right', 'confusion'] as const)
        state[name]?.forEach((count, i) => (tally.#counts[name]![i]! += count))
    return tally
  }

  get counts(): ClassCounts {
    return { ...this.#counts, scored: this.#scores?.batches }
  }

  add(output: ArrayLike<number>, target: ArrayLike<number>): void {
    const { kind, size } = this.#task
    if (kind === 'labels') this.#addLabels(output, target)
    // Shares of classes stand for the class with the largest one.
    const classes = kind === 'classes' && target.length === output.length ? largestOfRows(target, size) : target
    if (kind === 'classes') this.#addClasses(output, classes)
    this.#scores?.add(output, classes)
  }

  /** All ratios; `names` of the plan says which are wanted. */
  metrics() {
    const { confusion } = this.#counts
    const perClass = this.#perClass()
    // As in scikit-learn, a label that is never true and never answered counts as 0, and a class that does not occur does not count.
    const counted = this.#task.kind === 'labels' ? perClass : perClass.filter(({ f1 }) => f1 !== null)
    const macro = (name: 'precision' | 'recall' | 'f1' | 'iou') =>
      ratio(
        counted.reduce((sum, figures) => sum + (figures[name] ?? 0), 0),
        counted.length
      )
    return {
      perClass,
      precision: macro('precision'),
      recall: macro('recall'),
      f1: macro('f1'),
      iou: macro('iou'),
      ...(this.#scores && { auc: this.#scores.auc() }),
      ...(confusion && { confusion: rows(confusion) })
    }
  }

  #addClasses(output: ArrayLike<number>, target: ArrayLike<number>): void {
    const { samples, answers, right, confusion } = this.#counts
    const { size } = this.#task
    for (let i = 0; i < target.length; i++) {
      const own = target[i]!
      if (own === NO_CLASS) continue
      const answer = largestOfRow(output, i, size)
      samples[own]!++
      answers[answer]!++
      if (answer === own) right[own]!++
      if (confusion) confusion[own * size + answer]!++
    }
  }

  #addLabels(output: ArrayLike<number>, target: ArrayLike<number>): void {
    const { samples, answers, right, confusion } = this.#counts
    const { size } = this.#task
    for (let i = 0; i < target.length; i++) {
      const [own, answer] = [target[i]! > 0.5 ? 1 : 0, output[i]! > 0 ? 1 : 0]
      const label = i % size
      samples[label]! += own
      answers[label]! += answer
      right[label]! += own & answer
      if (confusion) confusion[2 * own + answer]!++
    }
  }

  #perClass(): Ratios[] {
    const { samples, answers, right } = this.#counts
    return Array.from(samples, (count, i) => {
      const [answered, correct] = [answers[i]!, right[i]!]
      const occurs = count + answered > 0
      return {
        class: i,
        samples: count,
        precision: occurs ? ratio(correct, answered) : null,
        recall: count > 0 ? correct / count : null,
        f1: occurs ? ratio(2 * correct, count + answered) : null,
        iou: occurs ? ratio(correct, count + answered - correct) : null
      }
    })
  }
}

/** The class of the first of the largest numbers of row i of (n, classes). */
function largestOfRow(values: ArrayLike<number>, i: number, classes: number): number {
  let largest = 0
  for (let c = 1; c < classes; c++) if (values[i * classes + c]! > values[i * classes + largest]!) largest = c
  return largest
}

function largestOfRows(values: ArrayLike<number>, classes: number): Int32Array {
  return Int32Array.from({ length: values.length / classes }, (_, i) => largestOfRow(values, i, classes))
}

/** 0 if nothing is divided by nothing. */
function ratio(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole
}

function rows(matrix: Float64Array): number[][] {
  const size = Math.sqrt(matrix.length)
  return Array.from({ length: size }, (_, i) => [...matrix.subarray(i * size, (i + 1) * size)])
}
