/** The options of a run, as its log has them. */
interface RunOptions {
  readonly options: Readonly<Record<string, unknown>>
}

/** An option that differs between runs: its path, and its value in each run, undefined if the run does not have it. */
export interface OptionDifference {
  readonly option: string
  readonly values: readonly unknown[]
}

/** The options that differ between runs, in the order in which the runs list them. */
export function differences(runs: readonly RunOptions[]): OptionDifference[] {
  const flat = runs.map(({ options }) => new Map(flatten(options, '')))
  const paths = new Set(flat.flatMap((options) => [...options.keys()]))
  // Where a run is recorded does not affect its result.
  return [...paths]
    .filter((option) => !option.startsWith('records.'))
    .map((option) => ({ option, values: flat.map((options) => options.get(option)) }))
    .filter(({ values }) => new Set(values.map((value) => JSON.stringify(value))).size > 1)
}

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
/** Files, folders and ports; and what follows from another option. */
const UNTOLD =
  /^(log|logDir|tensorboard|trace|dataDir|save|signal|checkpoint|dashboard|metricsPort|population|supervision|records)(\.|$)|^until\.minDelta$|^learningRateScale$/
/** Names that say little by themselves, and short ones for long paths. */
const SHORT: Readonly<Record<string, string>> = { 'optimiser.learningRate.learningRate': 'rate', 'images.size': 'image size' }
const MOST_TOLD = 3

/** What tells each run from the others, in few words: `hogwild, 4 learners, rate 0.1`. Empty where nothing does. */
export function distinctions(runs: readonly RunOptions[]): string[] {
  const found = differences(runs).filter(({ option }) => !UNTOLD.test(option))
  const isNamed = (name: string) => found.some(({ option }) => option === name)
  // Options of different rules differ because the rules do.
  const told = found.filter(
    ({ option }) => !(isNamed('synchroniser.name') && (option.startsWith('synchroniser.options.') || option === 'optimiser.isShared'))
  )
  const rank = (option: string) => (TOLD_FIRST.indexOf(option) + TOLD_FIRST.length + 1) % (TOLD_FIRST.length + 1)
  const ranked = told.toSorted((a, b) => rank(a.option) - rank(b.option)).slice(0, MOST_TOLD)
  return runs.map((_, run) =>
    ranked.flatMap(({ option, values }) => (values[run] === undefined ? [] : [words(option, values[run])])).join(', ')
  )
}

function words(option: string, value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  if (['model', 'data', 'precision'].includes(option) || option.endsWith('.name')) return text
  if (option === 'learners') return `${text} learners`
  return `${SHORT[option] ?? option.slice(option.lastIndexOf('.') + 1)} ${text}`
}

function flatten(value: unknown, path: string): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[path, value]]
  return Object.entries(value).flatMap(([name, member]) => flatten(member, path === '' ? name : `${path}.${name}`))
}
