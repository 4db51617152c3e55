import { errorOfAsk } from './error-of-ask.js'
import type { EvaluationPass, Evaluator, EvaluatorOptions, Findings, StatisticsPass } from './evaluator.js'
import { cancelIfFeedFails, type Feed } from './feed.js'
import type { JobScope } from './job-scope.js'
import type { BatchRange } from './sources.js'
import type { EngineBackend } from '../compiler/program.js'
import type { Engine, Handle } from '../engine/contract.js'
import { usableCores } from '../engine/machine.js'
import { metricsOf, type EvaluationMetrics, type MetricPlan } from '../metrics/metrics.js'
import type { ActorRef } from '../runtime/actor-ref.js'

const EVALUATOR = new URL('./evaluator.js', import.meta.url)

export interface EvaluatorsOptions {
  readonly feed: Feed
  /** One replica for each evaluator, in no group. */
  readonly replicas: readonly Handle[]
  /** The group whose central model the replicas take before each measurement; absent: they hold the model that is measured. */
  readonly group?: Handle
  /** One source of test samples for each evaluator, and its share of them. */
  readonly tests: readonly Handle[]
  readonly shares: readonly (readonly EvaluationPass[])[]
  /** Absent if the model has no batch-norm statistics, or if the replicas hold them. */
  readonly statistics?: StatisticsPass
  /** How many answers to a sample can be right or wrong; 0 if none; undefined if the evaluators count them. */
  readonly answers: number | undefined
  /** How many answers to a sample the loss of a batch is divided by. */
  readonly positions: number
  /** Absent if no metrics beside loss and accuracy are wanted. */
  readonly metrics?: MetricPlan | undefined
}

/** The quality of a model on test samples. */
export interface TestScores {
  readonly samples: number
  /** Mean over the samples. */
  readonly testLoss: number
  /** Share of right answers, 0 to 1; null where the targets are not classes. */
  readonly testAccuracy: number | null
  /** Share of samples whose class is among the likeliest, where the programs count these. */
  readonly testTopK?: number
  /** Present if some are wanted. */
  readonly testMetrics?: EvaluationMetrics
}

/** All evaluators of a job: each measures the same model on its share of the test samples, in a thread of its own. */
export class Evaluators {
  readonly #evaluators: readonly ActorRef<Evaluator>[]
  readonly #options: EvaluatorsOptions

  private constructor(evaluators: readonly ActorRef<Evaluator>[], options: EvaluatorsOptions) {
    this.#evaluators = evaluators
    this.#options = options
  }

  static async start(options: EvaluatorsOptions, { engine, engineModule, system }: JobScope): Promise<Evaluators> {
    const { feed, replicas, group, tests, shares, statistics, answers, metrics } = options
    cancelIfFeedFails(feed, replicas, engine)
    const start = (evaluate: readonly EvaluationPass[], i: number) => {
      const own: EvaluatorOptions = {
        engine: engineModule.href,
        replica: replicas[i]!,
        test: tests[i]!,
        evaluate,
        ...(group !== undefined && { group }),
        ...(statistics && { statistics }),
        ...(metrics && { metrics }),
        ...(answers === undefined && { countsLabels: true })
      }
      return system.spawn<typeof Evaluator>(EVALUATOR, 'Evaluator', own, { name: `evaluator ${i}` })
    }
    return new Evaluators(await Promise.all(shares.map(start)), options)
  }

  /** The first evaluator's replica: it holds the model that was measured or taken last. */
  get replica(): Handle {
    return this.#options.replicas[0]!
  }

  /** Measures the model on all test samples. Call it while the learners rest: the evaluators use their cores. */
  async measure(): Promise<TestScores> {
    return this.scoresOf(await this.findings())
  }

  /** As `measure`: what each evaluator finds in its share. */
  findings(): Promise<Findings[]> {
    const find = async (evaluator: ActorRef<Evaluator>): Promise<Findings> => {
      try {
        return await evaluator.askWith({ deadline: Infinity }).measure()
      } catch (error) {
        throw await errorOfAsk(error, evaluator, 'while it measured; start again: a run goes on from its newest checkpoint')
      }
    }
    return Promise.all(this.#evaluators.map(find))
  }

  /** The quality of the model from the findings in all shares, given in the order of the shares. */
  scoresOf(findings: readonly Findings[]): TestScores {
    const { answers, positions, shares, metrics } = this.#options
    const total = (what: Exclude<keyof Findings, 'tally'>) => findings.reduce((sum, each) => sum + each[what], 0)
    const samples = total('samples')
    const answered = answers === undefined ? total('labels') : samples * answers
    const share = (what: 'correct' | 'amongTop') => total(what) / answered
    const countsTop = shares.some((passes) => passes.some((pass) => pass.countsTop))
    return {
      samples,
      testLoss: (total('loss') * positions) / (answered || samples),
      testAccuracy: answers === 0 ? null : share('correct'),
      ...(countsTop && { testTopK: share('amongTop') }),
      ...(metrics && {
        testMetrics: metricsOf(
          metrics,
          findings.map(({ tally }) => tally!)
        )
      })
    }
  }

  /** The first evaluator's replica takes the central model, with its statistics, without a measurement. */
  async takeCentral(): Promise<void> {
    await this.#evaluators[0]!.askWith({ deadline: Infinity }).take()
  }

  async stop(): Promise<void> {
    await Promise.all(this.#evaluators.map((evaluator) => evaluator.stop()))
  }
}

/**
 * How many evaluators measure a model: one for each core that `learners` use in training, since the learners rest meanwhile. If the backend does not
 * compute on cores, one for each of `devices`, which it keeps busy.
 */
export function evaluatorCount(
  engine: Engine,
  backend: EngineBackend,
  { learners = Infinity, devices = 1 }: { readonly learners?: number; readonly devices?: number } = {}
): number {
  return engine.capabilities(backend).usesCores ? Math.min(learners, usableCores()) : devices
}

/** Divides every pass into `count` ranges of whole steps, as evenly as possible. Leaves out shares without samples. */
export function shareOut<Range extends BatchRange>(passes: readonly Range[], count: number): Range[][] {
  return Array.from({ length: count }, (_, share) => shareOf(passes, share, count)).filter(({ length }) => length > 0)
}

/** One of several processes, which share out what they measure. */
export interface EvaluationHost {
  readonly rank: number
  readonly size: number
}

/** Whether each of so many processes has something to measure; else the first one measures everything. */
export function isSharedOut(passes: readonly BatchRange[], size: number): boolean {
  return passes.some(({ steps }) => steps >= size)
}

/** As `shareOut`, of what this process measures; of everything if `host` is omitted. */
export function evaluationShares<Range extends BatchRange>(passes: readonly Range[], count: number, host?: EvaluationHost): Range[][] {
  const own = host && isSharedOut(passes, host.size) ? shareOf(passes, host.rank, host.size) : passes
  return shareOut(own, count)
}

function shareOf<Range extends BatchRange>(passes: readonly Range[], share: number, count: number): Range[] {
  return passes.flatMap((pass) => {
    const from = Math.floor((pass.steps * share) / count)
    const steps = Math.floor((pass.steps * (share + 1)) / count) - from
    return steps === 0 ? [] : [{ ...pass, steps, position: pass.position + from * pass.batch }]
  })
}
