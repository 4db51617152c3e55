import { finalRun, keyOf, type RunRecord, type RunSpec, type RunStep } from './run.js'
import { bestSteadyAccuracy, reachedAt } from './target.js'

type CostOfEpoch = (spec: RunSpec) => number

/** Contests of tuning runs: a heat of all runs on one seed, then, if there are finalists, the best ones on a second seed. */
export class Contests {
  /** Runs that are still to be made. */
  readonly open: RunStep[] = []
  /** The number of further runs, which are not known yet. */
  unknown = 0
  readonly #done: ReadonlyMap<string, RunRecord>
  readonly #finalists: number

  constructor(done: ReadonlyMap<string, RunRecord>, finalists: number) {
    this.#done = done
    this.#finalists = finalists
  }

  /** The best of these by the cost of reaching the target, or by the accuracy if none reached it; undefined while runs are open. */
  best(specs: readonly RunSpec[], cost: CostOfEpoch): RunSpec | undefined {
    const ranking = this.#heat(specs, cost)
    if (this.#finalists === 1) return ranking?.[0]?.spec
    if (!ranking) {
      this.unknown += this.#finalists
      return undefined
    }
    const finals = ranking.slice(0, this.#finalists).map((record) => ({ first: record, second: this.#secondOf(record.spec) }))
    const ended = finals.flatMap(({ first, second }) => (second ? [[first, second]] : []))
    return ended.length < finals.length ? undefined : ended.toSorted((a, b) => worse(a, b, cost))[0]?.[0]?.spec
  }

  /** All of these, the best first; undefined while runs are open. A run that can no longer become a finalist is given up. */
  #heat(specs: readonly RunSpec[], cost: CostOfEpoch): readonly RunRecord[] | undefined {
    const made = specs.flatMap((spec) => this.#done.get(keyOf(spec)) ?? [])
    const most = made.map((record) => costOf(record, cost)).toSorted((a, b) => a - b)[this.#finalists - 1] ?? Infinity
    const limitOf = (spec: RunSpec) => Math.min(spec.epochs, most / cost(spec))
    // A run that was given up earlier than it would be now may still become a finalist.
    const ended = made.filter(({ spec, outcome: { end, points } }) => end !== 'givenUp' || (points.at(-1)?.epoch ?? 0) >= limitOf(spec))
    const sound = new Set(ended.map(({ spec }) => keyOf(spec)))
    const missing = specs.filter((spec) => !sound.has(keyOf(spec)))
    this.open.push(...missing.map((run) => ({ run, giveUpAt: limitOf(run) })))
    return missing.length > 0 ? undefined : ended.toSorted((a, b) => worse([a], [b], cost))
  }

  #secondOf(spec: RunSpec): RunRecord | undefined {
    const run = finalRun(spec)
    const record = this.#done.get(keyOf(run))
    if (!record) this.open.push({ run, giveUpAt: run.epochs })
    return record
  }
}

/** Infinity if the target was not reached. */
function costOf({ spec, outcome }: RunRecord, cost: CostOfEpoch): number {
  return (reachedAt(outcome.points, spec.target)?.epoch ?? Infinity) * cost(spec)
}

/**
 * Compares two tunings by the runs of each on all seeds, for sorting: first those that reached the target, by cost, then those that did not, by accuracy,
 * then those that diverged.
 */
function worse(a: readonly RunRecord[], b: readonly RunRecord[], cost: CostOfEpoch): number {
  const [to, from] = [a, b].map((records) => sum(records.map((record) => costOf(record, cost)))) as [number, number]
  if (to !== from) return to < from ? -1 : 1
  return sum(b.map(standing)) - sum(a.map(standing))
}

/** The accuracy that ranks a run. With one cycle only the last one counts: before the end the learning rate is high, and the accuracy therefore low. */
function standing({ spec, outcome: { end, points } }: RunRecord): number {
  if (end === 'diverged') return -1
  return spec.schedule === 'one-cycle' ? (points.at(-1)?.accuracy ?? 0) : bestSteadyAccuracy(points)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
