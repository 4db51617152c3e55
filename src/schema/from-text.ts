import { readFileSync } from 'node:fs'
import { messageOf } from '../errors.js'

/** From the text of a flag to the value of its option. `refuse` makes the error for a text that stands for no value; it takes the fix. */
export type FromText = (text: string, refuse: (fix: string) => Error) => unknown

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i
const WHOLE = /^[+-]?\d+$/

/** Refuses `12x`, `1.5` and the empty text. */
export const wholeFromText: FromText = (text, refuse) => {
  const value = Number(text)
  if (WHOLE.test(text) && Number.isSafeInteger(value)) return value
  throw refuse(WHOLE.test(text) ? `use a whole number up to ${Number.MAX_SAFE_INTEGER}` : 'use a whole number')
}

/** A finite decimal number, such as `1e-3`. */
export const realFromText: FromText = (text, refuse) => {
  const value = Number(text)
  if (DECIMAL.test(text) && Number.isFinite(value)) return value
  throw refuse('use a number')
}

export const truthFromText: FromText = (text, refuse) => {
  if (text === 'true' || text === 'false') return text === 'true'
  throw refuse('use true or false')
}

const lists = new WeakSet<FromText>()

/** Members that are separated by commas. */
export function listFromText(member: FromText): FromText {
  const fromText: FromText = (text, refuse) => text.split(',').map((each) => member(each, refuse))
  lists.add(fromText)
  return fromText
}

/** Whether it gives a list of members. */
export function givesList(fromText: FromText): boolean {
  return lists.has(fromText)
}

/** JSON, or `@` and the path of a file that holds it. */
export const jsonFromText: FromText = (text, refuse) => {
  try {
    return JSON.parse(text.startsWith('@') ? fileFromText(text, refuse) : text)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    throw refuse(`it is not valid JSON: ${messageOf(error)}`)
  }
}

/** The content of the file in `@FILE`. */
export function fileFromText(text: string, refuse: (fix: string) => Error): string {
  try {
    return readFileSync(text.slice(1), 'utf8').trim()
  } catch (error) {
    throw refuse(`the file cannot be read: ${messageOf(error)}`)
  }
}
