/** The options of a run, as its log has them. */
export interface RunOptions {
  readonly options: Readonly<Record<string, unknown>>
}

/** An option that differs between runs: its path, and its value in each run, undefined if the run does not have it. */
export interface OptionDifference {
  readonly option: string
  readonly values: readonly unknown[]
}

/** Where a run is recorded and shown does not affect its result. `resumeAsGiven` is `checkpoint.resume` once more, and no option. */
const UNCOMPARED = /^(log|logDir|tensorboard|trace|dashboard|metricsPort|checkpoint\.resumeAsGiven)(\.|$)/

/** The options that differ between runs, in the order in which the runs list them. */
export function differences(runs: readonly RunOptions[]): OptionDifference[] {
  const flat = runs.map(({ options }) => new Map(flatten(options, '')))
  const paths = new Set(flat.flatMap((options) => [...options.keys()]))
  return [...paths]
    .filter((option) => !UNCOMPARED.test(option))
    .map((option) => ({ option, values: flat.map((options) => options.get(option)) }))
    .filter(({ values }) => new Set(values.map((value) => JSON.stringify(value))).size > 1)
}

function flatten(value: unknown, path: string): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[path, value]]
  return Object.entries(value).flatMap(([name, member]) => flatten(member, path === '' ? name : `${path}.${name}`))
}
