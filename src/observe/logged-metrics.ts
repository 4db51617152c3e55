import { invalidOption } from '../errors.js'

/** Metrics of a user's own: finite numbers by name. */
export type LoggedMetrics = Readonly<Record<string, number>>

/** A copy of metrics that a user gives to `log`. Throws INVALID_OPTION unless each has a name and is a finite number. */
export function checkedMetrics(given: LoggedMetrics): LoggedMetrics {
  if (typeof given !== 'object' || given === null || Array.isArray(given) || Object.keys(given).length === 0)
    throw invalidOption('log', given, 'give an object of numbers by name, such as { gradientNorm: 1.5 }')
  for (const [name, value] of Object.entries(given)) {
    if (name.trim() === '') throw invalidOption('log', given, 'give each metric a name')
    if (!Number.isFinite(value)) throw invalidOption(`log.${name}`, value, 'give a finite number: logs cannot hold any other')
  }
  return { ...given }
}
