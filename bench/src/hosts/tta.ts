import { loadavg } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { openDataset } from '../arbalest.js'
import type { BenchOptions } from '../bench.js'
import { ArbalestError } from '../errors.js'
import { comparison } from '../pairs.js'
import { pythonsWithTorch, type Python } from '../python.js'
import { median } from '../statistics.js'
import { rateName, type RULES } from './cases.js'
import { Laboratory } from './laboratory.js'
import { pytorchRanks } from './pytorch-ranks.js'
import { reachable } from './reachable.js'
import { answerOf, node, onAllHosts, openMpi, outputOf, type Mpi } from './mpi.js'
import type { Result } from './result.js'

/** A model on hosts that are joined by links of a rate, under one of our rules. */
export interface TtaOnHosts {
  readonly model: 'lenet' | 'resnet20'
  readonly rule: (typeof RULES)[number]
  readonly mbit: number
  readonly hosts: number
}

/** What a host of ours is told. */
export interface OurRun {
  readonly model: string
  readonly data: string
  readonly rule: TtaOnHosts['rule']
  readonly learners: number
  readonly rate: number
  readonly period: number
  readonly target: number
  readonly evaluateEvery: number
  readonly steps: number
  readonly seed: number
  /** Of the test samples only the first ones. */
  readonly tests?: number
}

export interface Task {
  readonly data: string
  readonly folder: string
  readonly samples: number
  /** Of all parameters. */
  readonly bytes: number
  readonly target: number
  /** Steps of 16 samples of each host between two evaluations, a multiple of the period; and the most. */
  readonly evaluate: number
  readonly steps: number
  /** The first ones of the test samples, which are measured; all if omitted. */
  readonly tests?: number
  /** Steps between two averages: of our rule, and of PyTorch's averager. */
  readonly period: number
  /** The learning rates that every method tries. */
  readonly rates: readonly number[]
}

export const TASKS: Readonly<Record<TtaOnHosts['model'], Task>> = {
  lenet: {
    data: 'mnist',
    folder: 'mnist',
    samples: 60_000,
    bytes: 1_724_320,
    target: 0.97,
    evaluate: 32,
    steps: 1024,
    period: 8,
    rates: [0.01, 0.02]
  },
  resnet20: {
    data: 'cifar-10',
    folder: 'cifar-10',
    samples: 50_000,
    bytes: 1_078_888,
    target: 0.45,
    evaluate: 64,
    steps: 1600,
    tests: 2000,
    period: 4,
    rates: [0.02, 0.05]
  }
}
const BATCH = 16
/** Measured runs have the seeds 1, 2, 3 and so on. */
export const TUNING_SEED = 1001
/** Seconds of the longest run, for its deadline. */
const LONGEST = 1500

/** PyTorch's ways, by the names of their rows. */
const PEERS = { 'ddp-gloo': 'ddp', 'ddp-gloo-fp16': 'fp16', 'periodic-averager': 'averager' } as const
export type PeerName = keyof typeof PEERS
export type Method = 'arbalest' | PeerName
export const PEER_NAMES = ['ddp-gloo', 'ddp-gloo-fp16', 'periodic-averager'] as const
export const METHODS: readonly Method[] = ['arbalest', ...PEER_NAMES]

/** A run to the target. */
export interface Outcome {
  readonly seconds: number
  readonly steps: number
  readonly reached: boolean
  readonly curve: readonly (readonly [step: number, accuracy: number])[]
}

/** The methods of a case, on one laboratory's links. */
export class Runs {
  readonly #one: Omit<TtaOnHosts, 'mbit'>
  readonly #mpi: Mpi
  readonly #python: Python
  readonly #task: Task

  constructor(one: Omit<TtaOnHosts, 'mbit'>, mpi: Mpi, python: Python, task = TASKS[one.model]) {
    this.#one = one
    this.#mpi = mpi
    this.#python = python
    this.#task = task
  }

  /** `steps`: the most. */
  run(laboratory: Laboratory, method: Method, rate: number, seed: number, steps = this.#task.steps): Promise<Outcome> {
    return method === 'arbalest' ? this.#ours(laboratory, rate, seed, steps) : this.#pytorch(laboratory, method, rate, seed, steps)
  }

  #ours(laboratory: Laboratory, rate: number, seed: number, steps: number): Promise<Outcome> {
    const { model, rule, hosts } = this.#one
    const { data, samples, target, evaluate, tests, period } = this.#task
    const evaluateEvery = (evaluate * BATCH * hosts) / samples
    const run: OurRun = {
      model,
      data,
      rule,
      learners: hosts,
      rate,
      period,
      target,
      evaluateEvery,
      steps,
      seed,
      ...(tests !== undefined && { tests })
    }
    return answerOf<Outcome>(onAllHosts(this.#mpi, laboratory, node('tta-child.js', [JSON.stringify(run)])), LONGEST)
  }

  async #pytorch(laboratory: Laboratory, method: PeerName, rate: number, seed: number, steps: number): Promise<Outcome> {
    const { model, hosts } = this.#one
    const { folder, target, evaluate, tests, period } = this.#task
    const script = fileURLToPath(new URL('../../peers/pytorch_hosts.py', import.meta.url))
    const values = {
      model,
      data: join(dataFolder(), folder),
      method: PEERS[method],
      batch: BATCH,
      rate,
      period,
      target,
      evaluate,
      steps,
      seed,
      ...(tests !== undefined && { tests })
    }
    const args = [script, ...Object.entries(values).flatMap(([name, value]) => [`--${name}`, String(value)])]
    const [first, ...others] = pytorchRanks(laboratory, hosts, this.#python, args)
    const [outcome] = await Promise.all([answerOf<Outcome>(first!, LONGEST), ...others.map((command) => outputOf(command, LONGEST))])
    return outcome
  }
}

/** Throws INVALID_OPTION if ARBALEST_DATA names no folder, and DATA_NOT_FOUND if the model's data set is not there. */
export async function checkData(model: TtaOnHosts['model']): Promise<void> {
  dataFolder()
  await openDataset(TASKS[model].data)
}

function dataFolder(): string {
  const folder = process.env['ARBALEST_DATA']
  if (folder !== undefined) return folder
  throw new ArbalestError('INVALID_OPTION', 'ARBALEST_DATA: received nothing; name the folder that holds the data sets mnist and cifar-10')
}

/**
 * Seconds of training until the target. First every method finds its learning rate among equally many, by the fewest steps, on links that are not shaped: the steps do not
 * depend on them. Then the methods run in turns, seed by seed. Ratios are those of the peer's seconds by ours.
 */
export async function timeToAccuracy(one: TtaOnHosts, options: BenchOptions): Promise<readonly Result[]> {
  const mpi = openMpi()
  const [python] = await pythonsWithTorch()
  const runs = new Runs(one, mpi, python!)
  const { rates, target, steps, period } = TASKS[one.model]
  const chosen = new Map<Method, number>()
  const tried = new Map<Method, Record<string, number>>()
  const unshaped = new Map<Method, number>()
  // The hook changes the gradients' last bits alone: it has the rate of plain DDP.
  for (const method of METHODS.filter((each) => each !== 'ddp-gloo-fp16')) {
    const found: Record<string, number> = {}
    for (const rate of rates) {
      await using laboratory = await Laboratory.open(one.hosts)
      // A rate that can no longer win is given up.
      const outcome = await runs.run(laboratory, method, rate, TUNING_SEED, Math.min(steps, ...Object.values(found)))
      if (outcome.reached) found[rate] = outcome.steps
      unshaped.set(method, Math.min(unshaped.get(method) ?? Infinity, outcome.seconds / outcome.steps))
      process.stderr.write(
        `${one.model} ${method} rate ${rate}: ${outcome.reached ? '' : 'not reached after '}${outcome.steps} steps, ${outcome.seconds.toFixed(1)} s\n`
      )
    }
    tried.set(method, found)
    chosen.set(
      method,
      rates.reduce((best, rate) => ((found[rate] ?? Infinity) < (found[best] ?? Infinity) ? rate : best))
    )
  }
  chosen.set('ddp-gloo-fp16', chosen.get('ddp-gloo')!)
  const outcomes = new Map<Method, Outcome[]>(METHODS.map((method) => [method, []]))
  for (let seed = 1; seed <= options.pairs; seed++) {
    for (const [method, of] of outcomes) {
      await using laboratory = await Laboratory.open(one.hosts, one.mbit)
      const outcome = await runs.run(laboratory, method, chosen.get(method)!, seed)
      of.push(outcome)
      const end = outcome.reached ? 'reached' : 'not reached'
      process.stderr.write(
        `${one.model} ${rateName(one.mbit)} ${method} seed ${seed}: ${end} after ${outcome.steps} steps, ${outcome.seconds.toFixed(1)} s\n`
      )
    }
  }
  const seconds = (method: Method) => outcomes.get(method)!.map((outcome) => (outcome.reached ? outcome.seconds : Infinity))
  const perStep = (method: Method) => median(outcomes.get(method)!.map((outcome) => outcome.seconds / outcome.steps))
  const ours = seconds('arbalest')
  return METHODS.slice(1).map((method): Result => {
    const theirs = seconds(method)
    const inverse = comparison(theirs, ours)
    return {
      bench: 'hosts',
      case: `tta ${one.model} h${one.hosts} ${rateName(one.mbit)} ${one.rule}`,
      peer: method,
      unit: 's',
      peerMode: `PyTorch ${python!.torch}`,
      ...inverse,
      value: inverse.peerValue,
      peerValue: inverse.value,
      target,
      steps: outcomes.get('arbalest')!.map((outcome) => outcome.steps),
      peerSteps: outcomes.get(method)!.map((outcome) => outcome.steps),
      secondsPerStep: perStep('arbalest'),
      peerSecondsPerStep: perStep(method),
      reachable: reachable(
        { ...one, period, bytes: TASKS[one.model].bytes },
        { computing: unshaped.get('arbalest')!, step: perStep('arbalest'), peerStep: perStep(method) }
      ),
      rate: chosen.get('arbalest')!,
      peerRate: chosen.get(method)!,
      tuning: { ours: tried.get('arbalest'), peer: tried.get(method) },
      mostSteps: steps,
      period,
      load: loadavg()[0]!
    }
  })
}
