import { finalRun, keyOf, type RunRecord, type RunSpec, type RunStep } from './run.js'
import { bestSteadyAccuracy, reachedAt } from './target.js'

type CostOfEpoch = (spec: RunSpec) => number

/** Contests of tuning runs: a heat of all on one seed, then, where there are finalists, the best of it on a second one. */
export class Contests {
  /** Runs that are still to be made. */
  readonly open: RunStep[] = []
  /** As many more will be asked for, but which is not known yet. */
  unknown = 0
  readonly #done: ReadonlyMap<string, RunRecord>
  readonly #finalists: number

  constructor(done: ReadonlyMap<string, RunRecord>, finalists: number) {
    this.#done = done
    this.#finalists = finalists
  }

  /** The best of these by the cost of reaching the target, else by what was reached; undefined while runs are open. */
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

  /** All of these, the best first; undefined while runs are open. What can no longer be among the finalists is given up. */
  #heat(specs: readonly RunSpec[], cost: CostOfEpoch): readonly RunRecord[] | undefined {
    const made = specs.flatMap((spec) => this.#done.get(keyOf(spec)) ?? [])
    const most = made.map((record) => costOf(record, cost)).toSorted((a, b) => a - b)[this.#finalists - 1] ?? Infinity
    const limitOf = (spec: RunSpec) => Math.min(spec.epochs, most / cost(spec))
    // A run that was given up earlier than it would be now may yet be among them.
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

/** Infinity where the target was not reached. */
function costOf({ spec, outcome }: RunRecord, cost: CostOfEpoch): number {
  return (reachedAt(outcome.points, spec.target)?.epoch ?? Infinity) * cost(spec)
}

/**
 * Two tunings, by a run of each on each seed. Later comes: who reached the target at more cost, then who did not reach it and by how much, then who
 * diverged. Equal ones keep their order.
 */
function worse(a: readonly RunRecord[], b: readonly RunRecord[], cost: CostOfEpoch): number {
  const [to, from] = [a, b].map((records) => sum(records.map((record) => costOf(record, cost)))) as [number, number]
  if (to !== from) return to < from ? -1 : 1
  return sum(b.map(standing)) - sum(a.map(standing))
}

/** What a run came to. On one cycle of the rate the end alone counts: until then the rate is high, and the accuracy low for it. */
function standing({ spec, outcome: { end, points } }: RunRecord): number {
  if (end === 'diverged') return -1
  return spec.schedule === 'one-cycle' ? (points.at(-1)?.accuracy ?? 0) : bestSteadyAccuracy(points)
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
