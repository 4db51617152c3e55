import { createHash } from 'node:crypto'
import type { Dataset } from '../data/dataset.js'
import type { Model } from '../model/model.js'

/**
 * Settings as a log keeps them: plain data of a few lines, in which everything that could differ between two runs differs. `within`: what the
 * value lies in, which is not told again where it is part of itself.
 */
export function loggable(value: unknown, within: readonly unknown[] = []): unknown {
  if (value === undefined || value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value === 'bigint') return `${value}`
  if (typeof value === 'function') return `[function ${value.name}]`
  if (value instanceof URL) return value.href
  if (ArrayBuffer.isView(value)) return `[${value.constructor.name} of ${value.byteLength} bytes]`
  if (within.includes(value)) return '[circular]'
  const told = (member: unknown) => loggable(member, [...within, value])
  if (Array.isArray(value)) return value.map(told)
  if (isModel(value)) return `${value.name} (sha256 ${digest(JSON.stringify(value))})`
  if (isDataset(value)) return `${value.name} (${value.train.count} + ${value.test.count} samples)`
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, told(member)]))
}

function isModel(value: object): value is Model {
  return 'layers' in value && 'loss' in value
}

function isDataset(value: object): value is Dataset {
  return 'train' in value && 'test' in value && 'sample' in value
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 12)
}
