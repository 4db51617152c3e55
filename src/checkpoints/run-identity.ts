import { contentHash, hashOf } from '../data/content-hash.js'
import { type Dataset, isStreamed } from '../data/dataset.js'
import { invalidOption, shown, together, type ArbalestError } from '../errors.js'
import { corruptFile } from '../formats/file-errors.js'
import type { Model } from '../model/model.js'
import type { ParameterLayout } from '../compiler/program.js'
import type { Settings } from '../options/settings.js'

/**
 * The settings in which a run must agree with the checkpoint from which it goes on: by option, as JSON. `until`, `learners`, `threads` and `backend` may
 * differ.
 */
export type RunIdentity = Readonly<Record<string, string>>

/** Checkpoints of older versions have neither this nor the content. Hosts that differ are told these names. */
const MEANING = 'data (its meaning)'

/** The parts of an augmentation that are options of a run, too. */
const AUGMENTATION_OPTIONS = ['cutout', 'mixup', 'cutmix'] as const

/** What the numbers of a data set stand for: a file may have changed to other classes, or other means of its columns, of the same shapes. */
function meaningOf({ classNames, encoding, augmentation }: Dataset): Group {
  const tokenizer = encoding && 'tokenizer' in encoding && encoding.tokenizer
  const ofTokenizer = tokenizer && { tokenizer: hashOf(JSON.stringify(tokenizer)) }
  const optional = Object.fromEntries(AUGMENTATION_OPTIONS.map((name) => [name, augmentation[name]]).filter(([, value]) => value))
  return { classNames: classNames ?? null, encoding: encoding ? { ...encoding, ...ofTokenizer } : null, ...optional }
}

/** The options of a reader, whose values need only be such as can be posted to a thread; null where they have no JSON, as big whole numbers. */
function asJson(options: unknown): unknown {
  try {
    JSON.stringify(options)
    return options
  } catch {
    return null
  }
}

/** A hash of the samples and their preparation. */
const CONTENT = 'data (its content)'

export function identityOf(model: Model, dataset: Dataset, { parameters }: ParameterLayout, settings: Settings): RunIdentity {
  const { name, train: samples, sample, classes } = dataset
  const { batch, synchroniser, average, freeze, precision, seed, optimiser } = settings
  return {
    model: JSON.stringify(model),
    parameters: JSON.stringify(parameters.map(({ name: parameter, shape }) => [parameter, shape])),
    data: JSON.stringify({
      name,
      count: samples.count,
      sample,
      classes,
      ...(isStreamed(samples) && { read: asJson(samples.reader.options) })
    }),
    [MEANING]: JSON.stringify(meaningOf(dataset)),
    [CONTENT]: JSON.stringify(contentHash(dataset)),
    batch: JSON.stringify(batch),
    optimiser: JSON.stringify(optimiser),
    synchroniser: JSON.stringify(synchroniser),
    average: JSON.stringify(average ?? null),
    freeze: JSON.stringify(freeze),
    precision: JSON.stringify(precision),
    seed: JSON.stringify(seed)
  }
}

/**
 * Throws INVALID_OPTION that lists each differing option with its old and its new value, and DATA_CORRUPT if a recorded value is no JSON.
 */
export function checkIdentity(folder: string, recorded: RunIdentity, now: RunIdentity): void {
  const differing = Object.keys(now).filter((option) => recorded[option] !== now[option] && option !== MEANING && option !== CONTENT)
  const valuesOf = (read: (option: string) => unknown) => Object.fromEntries(differing.map((option) => [option, read(option)]))
  const refusals = differencesOf(
    valuesOf((option) => recordedValue(folder, recorded, option)),
    valuesOf((option) => JSON.parse(now[option]!) as unknown)
  ).map(({ option, was, is }) => invalidOption(option, is, madeWith(folder, was)))
  const changed = differing.includes('data') ? [] : changedData(folder, recorded, now)
  const all = [...refusals, ...changed]
  if (all.length > 0) throw together(all as [ArbalestError, ...ArbalestError[]])
}

/** Data of the same name and shapes that is other data: the first of what its numbers stand for that has changed, or else that its samples have. */
function changedData(folder: string, recorded: RunIdentity, now: RunIdentity): readonly ArbalestError[] {
  const refused = (found: string) => {
    const { name } = JSON.parse(now['data']!) as { readonly name: string }
    return [invalidOption('data', name, `${found}: use the data as it was, or another folder of checkpoints`)]
  }
  const was = recordedValue(folder, recorded, MEANING)
  const differences = was === undefined ? [] : differencesIn('', was, JSON.parse(now[MEANING]!))
  const options = differences.filter(({ path }) => AUGMENTATION_OPTIONS.some((name) => path === `.${name}`))
  if (options.length > 0) return options.map(({ path, is = 0, was: made = 0 }) => invalidOption(path.slice(1), is, madeWith(folder, made)))
  const [first, ...others] = differences
  if (first) {
    const more = others.length > 0 ? `, and ${others.length} more` : ''
    return refused(
      `its ${first.path.slice(1)} is ${shownOrNone(first.is)}, where the checkpoint ${folder} was made with ${shownOrNone(first.was)}${more}`
    )
  }
  const isOther = recorded[CONTENT] !== undefined && recorded[CONTENT] !== now[CONTENT]
  return isOther
    ? refused(`the checkpoint ${folder} was made with other samples, or with another preparation of them, of this name and shape`)
    : []
}

function madeWith(folder: string, was: unknown): string {
  return `the checkpoint ${folder} was made with ${shownOrNone(was)}: use that, or another folder of checkpoints`
}

function shownOrNone(value: unknown): string {
  return value === undefined || value === null ? 'none' : shown(value)
}

/** An option that has two values. */
export interface SettingDifference {
  readonly option: string
  readonly was: unknown
  readonly is: unknown
}

/** The options, by their paths, in which two records of settings differ. */
export function differencesOf(was: Group, is: Group): readonly SettingDifference[] {
  const differences = Object.keys(is).flatMap((option) => differencesIn(option, was[option], is[option]))
  // Another model or other data have other parameters: only the cause is told.
  const causes = differences.filter(({ path }) => !path.startsWith('parameters'))
  return (causes.length > 0 ? causes : differences)
    .slice(0, MOST_TOLD)
    .map((difference) => ({ option: optionAt(difference.path), was: difference.was, is: difference.is }))
}

/** Of a model with other layers there may be thousands. */
const MOST_TOLD = 10

interface Difference {
  /** Within the settings. */
  readonly path: string
  readonly was: unknown
  readonly is: unknown
}

/** The smallest parts that differ. Two kinds of one thing (synchronisers, schedules, models) differ as a whole, because their options are not comparable. */
function differencesIn(path: string, was: unknown, is: unknown): readonly Difference[] {
  if (Array.isArray(was) && Array.isArray(is) && was.length === is.length)
    return was.flatMap((each, i) => differencesIn(`${path}[${i}]`, each, is[i]))
  if (!isObject(was ?? {}) || !isObject(is ?? {})) return JSON.stringify(was) === JSON.stringify(is) ? [] : [{ path, was, is }]
  return differencesInGroup(path, group(was), group(is))
}

function differencesInGroup(path: string, was: Group, is: Group): readonly Difference[] {
  const kind = ['kind', 'name'].find((key) => was[key] !== is[key])
  const keys = kind === undefined ? [...new Set([...Object.keys(was), ...Object.keys(is)])] : [kind]
  return keys.flatMap((key) => differencesIn(`${path}.${key}`, was[key], is[key]))
}

/** How the parts of the settings are called in the options from which they are made. */
const OPTIONS: readonly (readonly [setting: RegExp, option: string])[] = [
  [/^optimiser\.update\.trust$/, 'optimiser.trustCoefficient'],
  [/^optimiser\.update\./, 'optimiser.'],
  [/^optimiser\.learningRate\.kind$/, 'optimiser.schedule'],
  [/^optimiser\.learningRate\.(?=milestones|gamma|warmup)/, 'optimiser.'],
  [/^optimiser\.learningRate\.learningRate$/, 'optimiser.learningRate'],
  [/^synchroniser\.options\./, 'synchroniser.'],
  [/^average\.kind$/, 'average.name'],
  [/^average\.from$/, 'average.startEpoch'],
  [/^average\.every$/, 'average.period'],
  [/^model\.(?=labelSmoothing|classWeights|positiveWeights)/, ''],
  [/^(model|data)\.name$/, '$1']
]

function optionAt(path: string): string {
  const [setting, option] = OPTIONS.find(([each]) => each.test(path)) ?? []
  return setting && option !== undefined ? path.replace(setting, option) : path
}

type Group = Readonly<Record<string, unknown>>

function isObject(value: unknown): value is Group {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Null means none, such as no average. A schedule with a warm-up is the schedule, and its warm-up as an option. */
function group(value: unknown): Group {
  const { kind, schedule, duration, ...others } = (value ?? {}) as Group
  return kind === 'warmup' ? { ...others, ...(schedule as Group), warmup: duration } : ((value ?? {}) as Group)
}

/** undefined where a checkpoint of an older version has none. */
function recordedValue(folder: string, recorded: RunIdentity, option: string): unknown {
  const json = recorded[option]
  if (json === undefined) return undefined
  try {
    return JSON.parse(json)
  } catch (cause) {
    throw corruptFile(folder, { where: `run ${option}`, expected: 'a value as JSON', found: shown(json), cause })
  }
}
