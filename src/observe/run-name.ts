import { builtin } from '../node.js'

/** The name of a run in logs, pages and metrics. Names sort by time, and two runs of the same second differ: 20260131-235959-1f3a. */
export function newRunName(now = new Date()): string {
  const digits = now.toISOString().replaceAll(/[-:]/g, '')
  return `${digits.slice(0, 8)}-${digits.slice(9, 15)}-${builtin.crypto().randomBytes(2).toString('hex')}`
}
