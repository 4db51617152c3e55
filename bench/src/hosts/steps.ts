import { loadavg } from 'node:os'
import { join } from 'node:path'
import type { BenchOptions } from '../bench.js'
import { comparison } from '../pairs.js'
import { pythonsWithTorch, type Python } from '../python.js'
import { provenance, RESULTS } from '../results.js'
import { appendRecord, readRecords } from '../tta/results-file.js'
import { Laboratory } from './laboratory.js'
import { openMpi, type Mpi } from './mpi.js'
import type { Result } from './result.js'
import { PEER_NAMES, Runs, TASKS, TUNING_SEED, type Outcome, type PeerName, type TtaOnHosts } from './tta.js'

/** One of our rules or one of the peers. */
type Contestant = TtaOnHosts['rule'] | PeerName
/** Its gradients differ from those of plain DDP in the last bits alone: it has the rate and the steps of that. */
const AS_DDP = 'ddp-gloo-fp16'

/** The settings on which the steps of a run depend. The rate of the links does not change the steps. */
interface StepsRun {
  readonly model: TtaOnHosts['model']
  readonly hosts: number
  readonly method: Contestant
  readonly learningRate: number
  readonly period: number
  readonly seed: number
  readonly target: number
  readonly evaluate: number
}

type StepsRecord = StepsRun & Outcome & Awaited<ReturnType<typeof provenance>>

/** The runs of a folder, and those that are made now. */
class RecordedRuns {
  readonly #file: string
  readonly #records: StepsRecord[]
  readonly #runs: (rule: TtaOnHosts['rule'], model: TtaOnHosts['model'], hosts: number) => Runs
  readonly #deadline: number

  private constructor(file: string, records: readonly StepsRecord[], mpi: Mpi, python: Python, deadline: number) {
    this.#file = file
    this.#records = [...records]
    this.#deadline = deadline
    this.#runs = (rule, model, hosts) => new Runs({ model, rule, hosts }, mpi, python)
  }

  static async open(options: BenchOptions): Promise<RecordedRuns> {
    const file = join(options.out ?? RESULTS, 'hosts-steps.jsonl')
    const [python] = await pythonsWithTorch()
    const deadline = performance.now() + 60_000 * (options.budget ?? Infinity)
    return new RecordedRuns(file, await readRecords<StepsRecord>(file), openMpi(), python!, deadline)
  }

  /** `most`: the steps after which the run is given up. Resolves with undefined if there is no record and the budget has ended. */
  async outcome(run: StepsRun, most: number): Promise<Outcome | undefined> {
    const known = this.#records.find((record) => Object.entries(run).every(([name, value]) => record[name as keyof StepsRun] === value))
    if (known && (known.reached || known.steps >= most)) return known
    if (performance.now() > this.#deadline) return undefined
    await using laboratory = await Laboratory.open(run.hosts)
    const isPeer = PEER_NAMES.includes(run.method as PeerName)
    const runs = this.#runs(isPeer ? 'local-sgd' : (run.method as TtaOnHosts['rule']), run.model, run.hosts)
    const outcome = await runs.run(laboratory, isPeer ? (run.method as PeerName) : 'arbalest', run.learningRate, run.seed, most)
    const record: StepsRecord = { ...run, ...outcome, ...(await provenance()) }
    appendRecord(this.#file, record)
    this.#records.push(record)
    const end = outcome.reached ? '' : 'not reached after '
    process.stderr.write(`${run.model} ${run.method} rate ${run.learningRate} seed ${run.seed}: ${end}${outcome.steps} steps\n`)
    return outcome
  }
}

/** What a method needs until the target. */
export interface StepsOf {
  readonly method: Contestant
  readonly learningRate: number
  /** By learning rate; those that were given up are missing. */
  readonly tuning: Readonly<Record<string, number>>
  /** By seed; Infinity where the target was not reached. */
  readonly steps: readonly number[]
}

/**
 * Steps until the target accuracy, which do not depend on the links: on such that are not shaped. Every method finds its learning rate among equally many first, by the
 * fewest steps. Every finished run is recorded, and the next start continues after the last one. Resolves with undefined if the budget ends before all runs are made.
 */
export async function stepsToTarget(
  { model, hosts }: Pick<TtaOnHosts, 'model' | 'hosts'>,
  rules: readonly TtaOnHosts['rule'][],
  options: BenchOptions
): Promise<readonly StepsOf[] | undefined> {
  const { target, evaluate, rates, steps: most, period } = TASKS[model]
  const recorded = await RecordedRuns.open(options)
  const tuned: Omit<StepsOf, 'steps'>[] = []
  const run = (method: Contestant) => ({ model, hosts, method, period: method === 'ddp-gloo' ? 1 : period, target, evaluate })
  for (const method of [...rules, ...PEER_NAMES.filter((name) => name !== AS_DDP)]) {
    const tuning: Record<string, number> = {}
    for (const learningRate of rates) {
      const fewest = Math.min(most, ...Object.values(tuning))
      const outcome = await recorded.outcome({ ...run(method), learningRate, seed: TUNING_SEED }, fewest)
      if (!outcome) return undefined
      if (outcome.reached && outcome.steps <= fewest) tuning[learningRate] = outcome.steps
    }
    const learningRate = rates.reduce((best, rate) => ((tuning[rate] ?? Infinity) < (tuning[best] ?? Infinity) ? rate : best))
    tuned.push({ method, learningRate, tuning })
  }
  const found = tuned.map((one) => ({ ...one, steps: [] as number[] }))
  for (let seed = 1; seed <= options.pairs; seed++) {
    for (const { method, learningRate, steps } of found) {
      const outcome = await recorded.outcome({ ...run(method), learningRate, seed }, most)
      if (!outcome) return undefined
      steps.push(outcome.reached ? outcome.steps : Infinity)
    }
  }
  const ddp = found.find(({ method }) => method === 'ddp-gloo')!
  return [...found, { ...ddp, method: AS_DDP }]
}

/** Rows in steps; ratios are those of the peer's steps by ours, seed by seed. */
export function stepsRows({ model, hosts }: Pick<TtaOnHosts, 'model' | 'hosts'>, found: readonly StepsOf[]): readonly Result[] {
  const isPeer = ({ method }: StepsOf) => PEER_NAMES.includes(method as PeerName)
  const { target, steps: mostSteps, period } = TASKS[model]
  return found
    .filter((one) => !isPeer(one))
    .flatMap((ours) =>
      found.filter(isPeer).map((peer): Result => {
        const inverse = comparison(peer.steps, ours.steps)
        return {
          bench: 'hosts',
          case: `steps ${model} h${hosts} ${ours.method}`,
          peer: peer.method,
          unit: 'steps',
          ...inverse,
          value: inverse.peerValue,
          peerValue: inverse.value,
          target,
          steps: ours.steps,
          peerSteps: peer.steps,
          rate: ours.learningRate,
          peerRate: peer.learningRate,
          tuning: { ours: ours.tuning, peer: peer.tuning },
          mostSteps,
          period,
          load: loadavg()[0]!
        }
      })
    )
}
