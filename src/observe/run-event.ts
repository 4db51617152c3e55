import { builtin } from '../node.js'
import type { Dataset } from '../data/dataset.js'
import type { Model } from '../model/model.js'
import type { RunEvent } from './events.js'
import { packageVersion } from '../package-version.js'

/** The first event of a log: the settings, complete with their defaults, and the versions of this package and of Node. */
export function runEvent(settings: object): RunEvent {
  return { event: 'run', options: loggable(settings), versions: versions() }
}

/**
 * Settings as plain data of a few lines. Two settings that differ look different: of a model the log has a digest, of arrays their size. `within` lists
 * the objects that contain the value, so that an object that contains itself ends as `[circular]`.
 */
export function loggable(value: unknown, within: readonly unknown[] = []): unknown {
  if (value === undefined || value === null || typeof value === 'string' || typeof value === 'boolean') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value === 'bigint') return `${value}`
  if (typeof value === 'function') return `[function ${value.name}]`
  if (value instanceof URL) return value.href
  if (ArrayBuffer.isView(value)) return `[${value.constructor.name} of ${value.byteLength} bytes]`
  if (within.includes(value)) return '[circular]'
  const loggableMember = (member: unknown) => loggable(member, [...within, value])
  if (Array.isArray(value)) return value.map(loggableMember)
  if (isModel(value)) return `${value.name} (sha256 ${digest(JSON.stringify(value))})`
  if (isDataset(value)) return `${value.name} (${value.train.count} + ${value.test.count} samples)`
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, loggableMember(member)]))
}

function isModel(value: object): value is Model {
  return 'layers' in value && 'loss' in value
}

function isDataset(value: object): value is Dataset {
  return 'train' in value && 'test' in value && 'sample' in value
}

function digest(text: string): string {
  return builtin.crypto().createHash('sha256').update(text).digest('hex').slice(0, 12)
}

function versions(): Readonly<Record<string, string>> {
  return { arbalest: packageVersion(), node: process.versions.node }
}
