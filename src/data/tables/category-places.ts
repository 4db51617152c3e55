import { numberOf } from './cell.js'

/**
 * Finds the place of a value among those of a category: by its spelling, or else by the number or the truth value that it stands for if only one of the values stands for that. Spellings
 * differ between sources of the same data: what is `true` and `1` in JSON is `True` and `1.0` in a CSV of pandas.
 */
export function categoryPlaces(values: readonly string[]): (text: string) => number | undefined {
  const exact = new Map(values.map((value, i) => [value, i]))
  const meant = new Map<string, number | undefined>()
  for (const [i, value] of values.entries()) {
    const meaning = meaningOf(value)
    if (meaning !== undefined) meant.set(meaning, meant.has(meaning) ? undefined : i)
  }
  return (text) => {
    const place = exact.get(text)
    if (place !== undefined) return place
    const meaning = meaningOf(text)
    return meaning === undefined ? undefined : meant.get(meaning)
  }
}

/** One spelling for all of a truth value, or of a number; undefined for other texts. */
export function meaningOf(text: string): string | undefined {
  if (/^(?:true|false)$/i.test(text)) return text.toLowerCase()
  const number = numberOf(text)
  // Larger numbers may be different ones with the same float64.
  return number === undefined || Math.abs(number) > Number.MAX_SAFE_INTEGER ? undefined : String(number)
}
