import { readFileSync } from 'node:fs'
import { ArbalestError, messageOf } from '../errors.js'
import type { TrainOptions } from '../index.js'

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i
const WHOLE = /^[+-]?\d+$/

/** Parses the value of a flag that takes a whole number; refuses `12x`, `1.5` and the empty text. */
export function wholeNumber(flag: string): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (WHOLE.test(text) && Number.isSafeInteger(value)) return value
    throw invalidFlag(flag, text, 'use a whole number')
  }
}

/** Parses the value of a flag that takes a finite decimal number, such as `1e-3`. */
export function realNumber(flag: string): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (DECIMAL.test(text) && Number.isFinite(value)) return value
    throw invalidFlag(flag, text, 'use a number')
  }
}

/** INVALID_OPTION: a flag's value that cannot be used. */
export function invalidFlag(flag: string, received: string, fix: string): ArbalestError {
  const data = { parameter: flag, received }
  return new ArbalestError('INVALID_OPTION', `${flag}: received ${JSON.stringify(received)}; ${fix}`, { data })
}

type Devices = NonNullable<TrainOptions['devices']>

/** Parses the value of `--devices`: a number, or the cores of each device, as in `0-3:4-7` or `0,2:1,3`. Throws INVALID_OPTION. */
export function devicesFlag(text: string): Devices {
  if (!/[:,-]/.test(text)) return wholeNumber('--devices')(text)
  return text.split(':').map((cores) => ({ cores: cores.split(',').flatMap((range) => coresOf(range, text)) }))
}

function coresOf(range: string, text: string): number[] {
  const [, first, last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(range) ?? []
  if (first === undefined || Number(last) < Number(first))
    throw invalidFlag('--devices', text, 'use a number, or the cores of each device, as in 0-3:4-7')
  return Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i)
}

type Learners = NonNullable<TrainOptions['learners']>

/**
 * Parses the value of `--learners`: `auto`, a number, JSON, or `@` and a file of JSON. A population schedule may be given as a list, or as the
 * last line of a run with `--json`, which contains the run's schedule. Throws INVALID_OPTION.
 */
export function learnersFlag(text: string): Learners {
  if (text === 'auto') return text
  if (text.startsWith('@')) return learnersOf(jsonOrLastLine(fileText(text)), text)
  return /^[[{]/.test(text) ? learnersOf(text, text) : wholeNumber('--learners')(text)
}

function learnersOf(text: string, received: string): Learners {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw invalidFlag('--learners', received, `it is not valid JSON: ${messageOf(error)}`)
  }
  // `train` checks the options, as it does for callers in JavaScript.
  if (Array.isArray(value)) return { schedule: value as [] }
  if (typeof value === 'object' && value !== null && 'population' in value) return { schedule: value.population as [] }
  return value as Learners
}

function fileText(text: string): string {
  try {
    return readFileSync(text.slice(1), 'utf8').trim()
  } catch (error) {
    throw invalidFlag('--learners', text, `the file cannot be read: ${messageOf(error)}`)
  }
}

function jsonOrLastLine(text: string): string {
  try {
    JSON.parse(text)
    return text
  } catch {
    return text.slice(text.lastIndexOf('\n') + 1)
  }
}
