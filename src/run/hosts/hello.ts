import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Resumption } from '../../checkpoints/resume.js'
import { differencesOf, type RunIdentity } from '../../checkpoints/run-identity.js'
import type { ParameterLayout } from '../../compiler/program.js'
import { hashOf } from '../../data/content-hash.js'
import { ArbalestError, shown } from '../../errors.js'
import type { Settings } from '../../options/settings.js'
import type { RunSettings } from '../run-settings.js'

/** What a host says of itself before the first round. */
export interface Hello {
  readonly host: string
  /** Everything in which the hosts of a run must be equal, by option. */
  readonly about: Readonly<Record<string, unknown>>
}

/** What a host knows once its programs are compiled. */
export interface Preparation {
  readonly settings: RunSettings
  readonly layout: ParameterLayout
  readonly identity: RunIdentity
  /** Of the first central model, where it is read from files. */
  readonly initialHash: string | undefined
}

/** How a run begins once the hosts have met. */
export interface Beginning {
  readonly resumption: Resumption | undefined
  /** With the learners of all hosts. */
  readonly settings: RunSettings
}

/** Options that the hosts of a run must have equal, beside those that need a shorter form. */
const COMPARED = [
  'size',
  'labelSmoothing',
  'classWeights',
  'positiveWeights',
  'freeze',
  'context',
  'images',
  'cutout',
  'mixup',
  'cutmix',
  'overfit',
  'batch',
  'optimiser',
  'average',
  'evaluateEvery',
  'topK',
  'metrics',
  'until',
  'precision',
  'backend',
  'seed',
  'keep',
  'learnerOptions',
  'interventions'
] as const satisfies readonly (keyof Settings)[]

/** What is known before the data is opened and the model compiled, so that a wrong option is told at once. */
export function greetingOf(settings: Settings): Hello {
  const { model, data, synchroniser, population, devices, learner } = settings
  const options = {
    model: nameOf(model),
    data: nameOf(data),
    synchroniser: { name: synchroniser.name, options: synchroniser.options },
    learners: learnersOf(population),
    learner: learner && learner.href,
    'learner (its content)': learner && contentOf(learner),
    ruleAt: devices.ruleAt,
    exchange: devices.exchange,
    order: devices.order,
    racks: devices.racks,
    ...Object.fromEntries(COMPARED.map((option) => [option, settings[option]]))
  }
  return { host: hostname(), about: { version: codeHash(), ...asJson(options) } }
}

/** A hub learns from the first host what it serves. */
export function helloOfHub(): Hello {
  return { host: hostname(), about: { version: codeHash() } }
}

/** Of the module alone: what it imports is not looked at. */
function contentOf(module: URL): string {
  return hashOf(module.protocol === 'file:' ? readFileSync(module) : module.href)
}

function nameOf(given: string | { readonly name: string }): string {
  return typeof given === 'string' ? given : given.name
}

/** The first host decides how many learners begin where that is measured. */
function learnersOf({ schedule, tuning }: Settings['population']): Settings['population']['schedule'] | 'auto' {
  return tuning ? 'auto' : schedule
}

/** A number that is not finite is null. */
function asJson<Values extends object>(values: Values): Values {
  return JSON.parse(JSON.stringify(values)) as Values
}

export function helloOf({ settings, layout, identity, initialHash }: Preparation): Hello {
  const { until, population, evaluateEvery, backend, overfit, rule, initial, initialWeights, learnerOptions, interventions } = settings
  const values = Object.entries(identity).map(([option, json]): [string, unknown] => [option, JSON.parse(json)])
  const options = {
    until,
    learners: learnersOf(population),
    evaluateEvery,
    backend,
    overfit,
    initial,
    initialWeights,
    [`${initial === undefined ? 'initialWeights' : 'initial'} (its content)`]: initialHash,
    learnerOptions,
    interventions,
    rule
  }
  return {
    host: hostname(),
    about: {
      version: codeHash(),
      ...Object.fromEntries(values),
      ...asJson(options),
      // oneDNN chooses layouts by processor.
      'layout of the parameters (by processor and library)': hashOf(JSON.stringify(layout))
    }
  }
}

/** What follows from other options where it is not given: it is told only if nothing else differs. */
const FOLLOWS: ReadonlySet<string> = new Set(['optimiser.learningRate'])

/** Throws HOSTS_DIFFER with the first option in which a host differs from the first one. `ranks` are those of the others. */
export function checkHellos([first, ...others]: readonly Hello[], ranks: readonly number[] = others.map((_, i) => i + 1)): void {
  for (const [i, { host, about }] of others.entries()) {
    const rank = ranks[i]!
    const differences = differencesOf(first!.about, about)
    const difference = differences.find(({ option }) => !FOLLOWS.has(option)) ?? differences[0]
    if (!difference) continue
    const { option, was, is } = difference
    const own = `rank ${rank} (${host}) has ${valueOf(is)}`
    const message = `hosts: ${option}: ${own}, rank 0 (${first!.host}) has ${valueOf(was)}; use the same files, options and version on every host`
    throw new ArbalestError('HOSTS_DIFFER', message, { data: { rank, host, option } })
  }
}

function valueOf(value: unknown): string {
  return value === undefined || value === null ? 'none' : shown(value)
}

/** Of the compiled sources of this package, so that another commit is another version. */
function codeHash(): string {
  const folder = fileURLToPath(new URL('../..', import.meta.url))
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.js'))
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()
  const hash = createHash('sha256')
  for (const file of files) hash.update(`${relative(folder, file)}\0`).update(readFileSync(file))
  return hash.digest('hex').slice(0, 12)
}
