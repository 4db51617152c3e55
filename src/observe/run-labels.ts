import { differences, type OptionDifference, type RunOptions } from './run-differences.js'

/** Told first, in this order: what people compare. */
const TOLD_FIRST = [
  'model',
  'data',
  'synchroniser.name',
  'learners',
  'batch',
  'precision',
  'optimiser.learningRate.learningRate',
  'optimiser.update.name',
  'until.epochs',
  'until.steps'
]
/** Files, folders and ports, functions that watch; and what follows from another option. */
const UNTOLD =
  /^(log|logDir|tensorboard|trace|dataDir|signal|checkpoint|dashboard|metricsPort|population|supervision|onStep|onEvaluated|onEvaluatedDeadline)(\.|$)|^until\.minDelta$|^learningRateScale$/
/** Names for paths that say little by themselves, or are long. */
const SHORT: Readonly<Record<string, string>> = {
  'optimiser.learningRate.learningRate': 'rate',
  'optimiser.learningRate.kind': 'schedule',
  'average.kind': 'average',
  'images.size': 'image size'
}
/** Options whose value is told before their name: of one, and of several. */
const COUNTED: Readonly<Record<string, readonly [string, string]>> = {
  learners: ['learner', 'learners'],
  'devices.devices': ['device', 'devices'],
  'until.epochs': ['epoch', 'epochs'],
  'until.steps': ['step', 'steps']
}
/** Options whose value says what it is. */
const SELF_EVIDENT = /^(model|data|precision)$|\.(name|kind)$/
const MOST_TOLD = 3

/** What tells each run from the others, in few words: `hogwild, 4 learners, rate 0.1`. Empty where nothing does. */
export function distinctions(runs: readonly RunOptions[]): string[] {
  const found = differences(runs.map(({ options }) => ({ options: asGiven(options) }))).filter(({ option }) => !UNTOLD.test(option))
  const rank = ({ option }: OptionDifference) => (TOLD_FIRST.indexOf(option) + TOLD_FIRST.length + 1) % (TOLD_FIRST.length + 1)
  const told = found.filter(({ option }) => !followsFromKind(option, found)).toSorted((a, b) => rank(a) - rank(b))
  return runs.map((_, run) => {
    const own = told.filter(({ values }) => keyOf(values[run]) !== usual(values))
    return label(own.length > 0 ? own : told, run)
  })
}

/** A tuned number of learners changes during the run; how devices average follows from their number. */
function asGiven(options: RunOptions['options']): RunOptions['options'] {
  const { population, devices } = options as { population?: { tuning?: unknown }; devices?: { devices?: unknown } }
  return {
    ...options,
    ...(population?.tuning !== undefined && { learners: 'auto' }),
    ...(devices && { devices: { ...devices, levels: undefined } })
  }
}

/** Options of different rules, schedules or optimisers differ because these do. */
function followsFromKind(option: string, found: readonly OptionDifference[]): boolean {
  if (option === 'optimiser.learningRate.learningRate') return false
  return found.some(({ option: other }) => {
    const group = /^(.+\.)(?:name|kind)$/.exec(other)?.[1]
    if (group === undefined || other === option) return false
    return option.startsWith(group) || (other === 'synchroniser.name' && option === 'optimiser.isShared')
  })
}

/** The value that more runs have than any other; undefined if there is none. */
function usual(values: readonly unknown[]): string | undefined {
  const counts = new Map<string, number>()
  for (const value of values) counts.set(keyOf(value), (counts.get(keyOf(value)) ?? 0) + 1)
  const [first, second] = [...counts].toSorted(([, a], [, b]) => b - a)
  return first && first[1] > (second?.[1] ?? 0) ? first[0] : undefined
}

function keyOf(value: unknown): string {
  return JSON.stringify(value) ?? ''
}

function label(told: readonly OptionDifference[], run: number): string {
  const given = told.slice(0, MOST_TOLD).filter(({ values }) => values[run] !== undefined)
  if (given.length > 0) return given.map(({ option, values }) => words(option, values[run], values)).join(', ')
  return told.length > 0 ? `default ${nameOf(told[0]!.option)}` : ''
}

/** `values`: those of all runs. */
function words(option: string, value: unknown, values: readonly unknown[]): string {
  const counted = COUNTED[option]
  if (counted) {
    const count = Array.isArray(value) ? value.length : value
    return typeof count === 'number' ? `${count} ${counted[count === 1 ? 0 : 1]}` : `${counted[1]} ${String(count)}`
  }
  const name = nameOf(option)
  if (typeof value === 'boolean') return value ? name : `no ${name}`
  const text =
    typeof value === 'string' ? nameInPath(value, values) : typeof value === 'number' ? numberText(value, values) : JSON.stringify(value)
  if (option === 'optimiser.learningRate.kind') return `${text} schedule`
  return SELF_EVIDENT.test(option) ? text : `${name} ${text}`
}

/** A number with as few digits, from three on, as tell it from all others: a rate that was drawn at random has seventeen. */
function numberText(number: number, values: readonly unknown[]): string {
  if (Number.isInteger(number)) return `${number}`
  const others = values.filter((value) => typeof value === 'number' && value !== number) as readonly number[]
  let digits = 3
  const rounded = (value: number) => Number(value.toPrecision(digits))
  while (digits < 17 && others.some((other) => rounded(other) === rounded(number))) digits++
  return `${rounded(number)}`
}

/** The last name of a path, or all of the path where the last name of another one is the same. */
function nameInPath(path: string, values: readonly unknown[]): string {
  const lastName = (text: string) => /[^/]*\/*$/.exec(text)![0]
  const isShared = values.some((other) => typeof other === 'string' && other !== path && lastName(other) === lastName(path))
  return isShared ? path : lastName(path)
}

/** `optimiser.clipNorm` is `clip norm`. */
function nameOf(option: string): string {
  const last = option.slice(option.lastIndexOf('.') + 1)
  return SHORT[option] ?? last.replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}
