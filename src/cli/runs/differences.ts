import type { RecordedRun } from '../../index.js'

/** An option that is not the same in all runs: its path, and its value in each of them; undefined where a run has none. */
export interface Difference {
  readonly option: string
  readonly values: readonly unknown[]
}

/** Where the options of runs differ, by their paths, in the order in which the first run that has them names them. */
export function differences(runs: readonly Pick<RecordedRun, 'options'>[]): Difference[] {
  const flat = runs.map(({ options }) => new Map(leaves(options, '')))
  const paths = new Set(flat.flatMap((options) => [...options.keys()]))
  // Where a run is written to is not what it does.
  return [...paths]
    .filter((option) => !option.startsWith('records.'))
    .map((option) => ({ option, values: flat.map((options) => options.get(option)) }))
    .filter(({ values }) => new Set(values.map((value) => JSON.stringify(value))).size > 1)
}

function leaves(value: unknown, path: string): [string, unknown][] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [[path, value]]
  return Object.entries(value).flatMap(([name, member]) => leaves(member, path === '' ? name : `${path}.${name}`))
}
