export type JsonValue = string | number | boolean | null | readonly JsonValue[] | JsonObject
export type JsonObject = ReadonlyMap<string, JsonValue>

const SPACE = new Set([' ', '\t', '\n', '\r'])
const IN_NUMBER = new Set('+-.0123456789eE')

/** The longest number that is looked at: more digits than any number has use for. */
const LONGEST_NUMBER = 40

/**
 * JSON (RFC 8259) from a source that is not trusted: unlike `JSON.parse` it refuses a name that an object has twice and nesting
 * beyond `depth`, and its objects are Maps, so that no name is special. Throws SyntaxError, which says where.
 */
export function parseStrictJson(text: string, { depth }: { depth: number }): JsonValue {
  const parser = new Parser(text)
  const value = parser.value(depth)
  parser.end()
  return value
}

/** The same as `JSON.parse` would give it. A name that JavaScript gives a meaning of its own stays a name, of a member and nothing else. */
export function plainJson(value: JsonValue): unknown {
  if (Array.isArray(value)) return value.map(plainJson)
  if (!(value instanceof Map)) return value
  return Object.fromEntries([...(value as JsonObject)].map(([name, member]) => [name, plainJson(member)]))
}

class Parser {
  readonly #text: string
  #at = 0

  constructor(text: string) {
    this.#text = text
  }

  value(depth: number): JsonValue {
    const first = this.#next()
    if (first === '{') return this.#object(depth)
    if (first === '[') return this.#array(depth)
    if (first === '"') return this.#string()
    if (IN_NUMBER.has(first)) return this.#number()
    return this.#word()
  }

  end(): void {
    if (this.#next() !== '') throw this.#fault('the end')
  }

  #object(depth: number): JsonObject {
    const members = new Map<string, JsonValue>()
    this.#list('}', depth, () => {
      if (this.#next() !== '"') throw this.#fault('a name')
      const start = this.#at
      const name = this.#string()
      if (members.has(name)) throw this.#fault('each name once', start)
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
    if (depth === 0) throw this.#fault('no deeper nesting')
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
    const start = this.#at++
    for (let end = this.#text.indexOf('"', this.#at); end >= 0; end = this.#text.indexOf('"', end + 1)) {
      let slashes = 0
      while (this.#text[end - 1 - slashes] === '\\') slashes++
      if (slashes % 2) continue
      this.#at = end + 1
      return this.#builtIn(start) as string
    }
    throw this.#fault("a string's end", start)
  }

  #number(): number {
    const start = this.#at
    while (IN_NUMBER.has(this.#text[this.#at] ?? ' ') && this.#at - start <= LONGEST_NUMBER) this.#at++
    if (this.#at - start > LONGEST_NUMBER) throw this.#fault(`a number of at most ${LONGEST_NUMBER} characters`, start)
    return this.#builtIn(start) as number
  }

  #word(): boolean | null {
    for (const word of ['true', 'false', 'null']) {
      if (!this.#text.startsWith(word, this.#at)) continue
      this.#at += word.length
      return JSON.parse(word) as boolean | null
    }
    throw this.#fault('a value')
  }

  /** Escapes and digits are as `JSON.parse` has them. */
  #builtIn(start: number): unknown {
    try {
      return JSON.parse(this.#text.slice(start, this.#at))
    } catch {
      throw this.#fault('a string or a number as JSON writes it', start)
    }
  }

  /** The character that follows, past white space; '' at the end. */
  #next(): string {
    while (SPACE.has(this.#text[this.#at] ?? '')) this.#at++
    return this.#text[this.#at] ?? ''
  }

  #take(character: string): void {
    if (this.#next() !== character) throw this.#fault(character)
    this.#at++
  }

  #fault(expected: string, at = this.#at): SyntaxError {
    const found = this.#text.slice(at, at + 20)
    return new SyntaxError(`${expected} at character ${at}, found ${found === '' ? 'the end' : JSON.stringify(found)}`)
  }
}
