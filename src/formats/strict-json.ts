export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
export type JsonObject = ReadonlyMap<string, JsonValue>

/** The most values of one text if nothing else is said, so that a forged file takes less than a second: as many as 75,000 tensors of a safetensors header have. */
const MAX_VALUES = 2 ** 19

/** The longest number that is parsed, in characters: more digits than a double can distinguish. */
const MAX_NUMBER_LENGTH = 40

/**
 * Parses JSON (RFC 8259) from an untrusted source. Unlike `JSON.parse` it refuses duplicate names, nesting deeper than `depth`, and more than
 * `values` values; objects become Maps, so that no name has a special meaning. Throws SyntaxError with the position.
 */
export function parseStrictJson(text: string, { depth, values = MAX_VALUES }: { depth: number; values?: number }): JsonValue {
  const parser = new Parser(text, values)
  const value = parser.value(depth)
  parser.end()
  return value
}

/** The value that `JSON.parse` would return. A name such as `__proto__` becomes an ordinary property. */
export function plainJson(value: JsonValue): unknown {
  if (Array.isArray(value)) return value.map(plainJson)
  if (!(value instanceof Map)) return value
  return Object.fromEntries([...(value as JsonObject)].map(([name, member]) => [name, plainJson(member)]))
}

/** Sticky patterns: regular expressions scan runs of characters in compiled code, many times as fast as a loop over characters. */
const SPACE = /[ \t\n\r]*/y
/** A string without escapes; JSON allows no control characters in it. */
// oxlint-disable-next-line no-control-regex
const PLAIN_STRING = /"[^"\\\u0000-\u001f]*"/y
const NUMBER = /[-+.0-9eE]+/y

class Parser {
  readonly #text: string
  readonly #mostValues: number
  #at = 0
  #values = 0

  constructor(text: string, mostValues: number) {
    this.#text = text
    this.#mostValues = mostValues
  }

  value(depth: number): JsonValue {
    const first = this.#next()
    if (++this.#values > this.#mostValues) throw this.#error(`at most ${this.#mostValues} values`)
    if (first === '{') return this.#object(depth)
    if (first === '[') return this.#array(depth)
    if (first === '"') return this.#string()
    if ('+-.0123456789eE'.includes(first) && first !== '') return this.#number()
    return this.#word()
  }

  end(): void {
    if (this.#next() !== '') throw this.#error('the end')
  }

  #object(depth: number): JsonObject {
    const members = new Map<string, JsonValue>()
    this.#list('}', depth, () => {
      if (this.#next() !== '"') throw this.#error('a name')
      const start = this.#at
      const name = this.#string()
      if (members.has(name)) throw this.#error('each name once', start)
      this.#take(':')
      members.set(name, this.value(depth - 1))
    })
    return members
  }

  #array(depth: number): readonly JsonValue[] {
    const items: JsonValue[] = []
    this.#list(']', depth, () => items.push(this.value(depth - 1)))
    return items
  }

  #list(close: string, depth: number, item: () => void): void {
    if (depth === 0) throw this.#error('no deeper nesting')
    this.#at++
    if (this.#next() !== close) {
      item()
      while (this.#next() === ',') {
        this.#at++
        item()
      }
    }
    this.#take(close)
  }

  #string(): string {
    const start = this.#at
    const plain = this.#match(PLAIN_STRING)
    if (plain !== undefined) return plain.slice(1, -1)
    for (let quote = this.#text.indexOf('"', start + 1); quote >= 0; quote = this.#text.indexOf('"', quote + 1)) {
      let backslashes = 0
      while (this.#text[quote - 1 - backslashes] === '\\') backslashes++
      if (backslashes % 2 === 1) continue
      this.#at = quote + 1
      return this.#parsed(start) as string
    }
    throw this.#error("a string's end", start)
  }

  #number(): number {
    const start = this.#at
    const length = this.#match(NUMBER)!.length
    if (length > MAX_NUMBER_LENGTH) throw this.#error(`a number of at most ${MAX_NUMBER_LENGTH} characters`, start)
    return this.#parsed(start) as number
  }

  #word(): boolean | null {
    for (const word of ['true', 'false', 'null']) {
      if (!this.#text.startsWith(word, this.#at)) continue
      this.#at += word.length
      return JSON.parse(word) as boolean | null
    }
    throw this.#error('a value')
  }

  /** Leaves escapes and digits to `JSON.parse`. */
  #parsed(start: number): unknown {
    try {
      return JSON.parse(this.#text.slice(start, this.#at))
    } catch {
      throw this.#error('a valid JSON string or number', start)
    }
  }

  /** Skips white space and returns the next character without consuming it; '' at the end. */
  #next(): string {
    if (this.#text.charCodeAt(this.#at) <= 32) this.#match(SPACE)
    return this.#text[this.#at] ?? ''
  }

  /** Consumes and returns the text that matches a sticky pattern at the current position. */
  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at
    const found = pattern.exec(this.#text)?.[0]
    if (found !== undefined) this.#at += found.length
    return found
  }

  #take(character: string): void {
    if (this.#next() !== character) throw this.#error(character)
    this.#at++
  }

  #error(expected: string, at = this.#at): SyntaxError {
    const found = this.#text.slice(at, at + 20)
    return new SyntaxError(`${expected} at character ${at}, found ${found === '' ? 'the end' : JSON.stringify(found)}`)
  }
}
