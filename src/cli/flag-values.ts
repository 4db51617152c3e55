import { ArbalestError } from '../errors.js'
import { realFromText, wholeFromText } from '../schema/from-text.js'

/** Parses the value of a flag that takes a whole number; refuses `12x`, `1.5` and the empty text. */
export function wholeNumber(flag: string): (text: string) => number {
  return (text) => wholeFromText(text, (fix) => invalidFlag(flag, text, fix)) as number
}

/** Parses the value of a flag that takes a finite decimal number, such as `1e-3`. */
export function realNumber(flag: string): (text: string) => number {
  return (text) => realFromText(text, (fix) => invalidFlag(flag, text, fix)) as number
}

/** INVALID_OPTION: a flag's value that cannot be used. */
export function invalidFlag(flag: string, received: string, fix: string): ArbalestError {
  const data = { parameter: flag, received }
  return new ArbalestError('INVALID_OPTION', `${flag}: received ${JSON.stringify(received)}; ${fix}`, { data })
}
