import type { Task } from './metric-names.js'

/** The scores of samples batch by batch, with what they are compared with. */
export interface ScoredBatch {
  /** (n, size): the higher, the surer of the class or the yes. */
  readonly scores: Float64Array
  /** Class numbers (n), or for labels (n, size) 1 where they hold and 0 where not. */
  readonly targets: Int32Array
}

/** Keeps how sure a model is of every answer, to tell how well the scores rank the samples: one answer to a sample. */
export class ScoreTally {
  readonly #task: Task
  readonly #batches: ScoredBatch[]

  constructor(task: Task, batches: readonly ScoredBatch[] = []) {
    this.#task = task
    this.#batches = [...batches]
  }

  get batches(): readonly ScoredBatch[] {
    return this.#batches
  }

  add(output: ArrayLike<number>, target: ArrayLike<number>): void {
    const { kind, size } = this.#task
    const isLabels = kind === 'labels'
    this.#batches.push({
      scores: isLabels ? Float64Array.from(output) : logOdds(output, size),
      targets: Int32Array.from(target, (value) => (isLabels ? Number(value > 0.5) : value))
    })
  }

  /**
   * The area under the ROC curve of each class, or label, that has samples on both sides; the mean of these, or 0 if there is none. It is the share of pairs of a sample of the class and
   * another one in which the first has the higher score, where equal scores count half (Hanley and McNeil, "The Meaning and Use of the Area under a ROC Curve", Radiology 143, 1982).
   */
  auc(): number {
    const areas = Array.from({ length: this.#task.size }, (_, label) => this.#area(label)).filter((area) => area !== undefined)
    return areas.length === 0 ? 0 : areas.reduce((sum, area) => sum + area, 0) / areas.length
  }

  #area(label: number): number | undefined {
    const [own, others] = this.#sides(label)
    if (own.length === 0 || others.length === 0) return undefined
    // What is no number comes last.
    if (Number.isNaN(own.at(-1)) || Number.isNaN(others.at(-1))) return NaN
    let [below, upTo, won] = [0, 0, 0]
    for (const score of own) {
      while (below < others.length && others[below]! < score) below++
      while (upTo < others.length && others[upTo]! <= score) upTo++
      won += (below + upTo) / 2
    }
    return won / (own.length * others.length)
  }

  /** The scores of the samples of a class or label, and of the others; each sorted. */
  #sides(label: number): readonly [Float64Array, Float64Array] {
    const { kind, size } = this.#task
    const sides: readonly [number[], number[]] = [[], []]
    for (const { scores, targets } of this.#batches)
      for (let i = 0; i < scores.length / size; i++) {
        const holds = kind === 'labels' ? targets[i * size + label] === 1 : targets[i] === label
        sides[holds ? 0 : 1].push(scores[i * size + label]!)
      }
    const sorted = (side: readonly number[]) => Float64Array.from(side).sort()
    return [sorted(sides[0]), sorted(sides[1])]
  }
}

/** log(p / (1 - p)) of the probability of each class, from logits (n, size). They rank as probabilities do, of which all near 1 would be equal. */
function logOdds(logits: ArrayLike<number>, size: number): Float64Array {
  const odds = new Float64Array(logits.length)
  for (let at = 0; at < logits.length; at += size) {
    let top = at
    for (let i = at + 1; i < at + size; i++) if (logits[i]! > logits[top]!) top = i
    let others = 0
    for (let i = at; i < at + size; i++) if (i !== top) others += Math.exp(logits[i]! - logits[top]!)
    // The sum of the others: less the largest it would have no digits left.
    for (let i = at; i < at + size; i++) {
      const distance = logits[i]! - logits[top]!
      odds[i] = distance - Math.log(i === top ? others : 1 + others - Math.exp(distance))
    }
  }
  return odds
}
