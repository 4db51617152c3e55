import { corruptFile } from '../file-errors.js'
import type { PlainObject } from '../json-file.js'

const LONGEST = 4096

/** Deeper than any tokenizer is. */
const DEPTH = 32

/**
 * Refuses regular expressions of a tokenizer with which a short text could take hours: those that repeat a group that repeats, such as (a+)+, and those that refer to what
 * they have matched. Published tokenizers have none. Throws DATA_CORRUPT.
 */
export function refuseSlowPatterns(tokenizer: PlainObject, file: string): void {
  for (const pattern of patternsIn(
    [tokenizer['normalizer'], tokenizer['pre_tokenizer'], tokenizer['post_processor'], tokenizer['decoder']],
    DEPTH
  )) {
    const fault = pattern.length > LONGEST ? `one of ${pattern.length} characters` : slowIn(pattern) ? JSON.stringify(pattern) : undefined
    if (fault !== undefined)
      throw corruptFile(file, {
        where: 'Regex',
        expected: 'a pattern without repetitions in repetitions',
        found: fault,
        fix: 'use another tokenizer'
      })
  }
}

function* patternsIn(part: unknown, depth: number): Generator<string> {
  if (typeof part !== 'object' || part === null || depth === 0) return
  for (const [name, value] of Object.entries(part))
    if (name === 'Regex' && typeof value === 'string') yield value
    else yield* patternsIn(value, depth - 1)
}

/** Reads a pattern without understanding it: groups, classes, escapes, and which of them are repeated without end. */
function slowIn(pattern: string): boolean {
  /** For each open group whether something in it repeats. */
  const open: boolean[] = [false]
  let closed = false
  for (let i = 0; i < pattern.length; i++) {
    const character = pattern[i]!
    const repeats = repetition.exec(pattern.slice(i, i + 32))?.[0]
    if (repeats !== undefined) {
      if (closed) return true
      open[open.length - 1] = true
      i += repeats.length - 1
      closed = false
      continue
    }
    closed = false
    if (character === '\\') {
      if (/[1-9k]/.test(pattern[i + 1] ?? '')) return true
      i++
    } else if (character === '[') i = endOfClass(pattern, i)
    else if (character === '(') open.push(false)
    else if (character === ')' && open.length > 1) {
      closed = open.pop()!
      if (closed) open[open.length - 1] = true
    }
  }
  return false
}

/** Of more than a few: without an upper bound, or with a large one. */
const repetition = /^(?:[*+]|\{\d*,\}|\{\d*,?\d{2,}\})/

/** Where a class of characters ends that begins at `from`. */
export function endOfClass(pattern: string, from: number): number {
  let depth = 0
  for (let i = from; i < pattern.length; i++) {
    if (pattern[i] === '\\') i++
    else if (pattern[i] === '[') depth++
    else if (pattern[i] === ']' && --depth === 0) return i
  }
  return pattern.length
}
