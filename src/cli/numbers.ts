import { ArbalestError, type ErrorCode } from '../index.js'

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i
const WHOLE = /^[+-]?\d+$/

/** A flag's value that must be a whole number and nothing else: `12x`, `1.5` and the empty text are refused. */
export function wholeNumber(flag: string): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (WHOLE.test(text) && Number.isSafeInteger(value)) return value
    throw refusal(flag, text, 'use a whole number')
  }
}

/** A flag's value that must be a finite decimal number, `1e-3` included. */
export function realNumber(flag: string): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (DECIMAL.test(text) && Number.isFinite(value)) return value
    throw refusal(flag, text, 'use a number')
  }
}

/** What a flag is refused with. */
export function refusal(flag: string, received: string, mend: string): ArbalestError {
  const code: ErrorCode = 'INVALID_OPTION'
  return new ArbalestError(code, `${flag}: received ${JSON.stringify(received)}; ${mend}`, { data: { parameter: flag, received } })
}
