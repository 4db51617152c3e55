import { readFileSync } from 'node:fs'
import { messageOf } from '../errors.js'
import type { TrainOptions } from '../index.js'
import { refusal, wholeNumber } from './numbers.js'

type Learners = NonNullable<TrainOptions['learners']>

/**
 * The value of `--learners`: `auto`, a number, or JSON, from a file where it begins with `@`. A schedule may be given as such, or as the last line of
 * a run with `--json`, which carries its own. Throws INVALID_OPTION.
 */
export function learnersFlag(text: string): Learners {
  if (text === 'auto') return text
  if (text.startsWith('@')) return learnersOf(lastOf(fileText(text)), text)
  return /^[[{]/.test(text) ? learnersOf(text, text) : wholeNumber('--learners')(text)
}

function learnersOf(text: string, received: string): Learners {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw refusal('--learners', received, `it is no JSON: ${messageOf(error)}`)
  }
  // What the options are is checked by `train`, as what comes from JavaScript is.
  if (Array.isArray(value)) return { schedule: value as [] }
  if (typeof value === 'object' && value !== null && 'population' in value) return { schedule: value.population as [] }
  return value as Learners
}

function fileText(text: string): string {
  try {
    return readFileSync(text.slice(1), 'utf8').trim()
  } catch (error) {
    throw refusal('--learners', text, `the file cannot be read: ${messageOf(error)}`)
  }
}

/** A whole text of JSON, or the last line of a log. */
function lastOf(text: string): string {
  try {
    JSON.parse(text)
    return text
  } catch {
    return text.slice(text.lastIndexOf('\n') + 1)
  }
}
