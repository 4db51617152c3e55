import { ArbalestError, invalidOption, together, unknownName } from '../errors.js'

/** Every option of a group, so that none is forgotten: `{ learningRate: true, momentum: true }`. */
export type OptionNames<Options> = { readonly [Name in keyof Options]-?: true }

/**
 * Checks options and collects what is wrong with them: `done` throws it all at once. Until then a value that was refused has a stand-in which
 * no further check refuses, so that one fault is told once.
 */
export class OptionChecks {
  readonly #refusals: ArbalestError[] = []

  /** Throws INVALID_OPTION with every fault as `data.faults`; a single one as itself, INVALID_OPTION or UNKNOWN_NAME. */
  done(): void {
    const [first, ...others] = this.#refusals
    if (first) throw together([first, ...others])
  }

  /** Whether nothing has been refused so far. */
  get none(): boolean {
    return this.#refusals.length === 0
  }

  refuse(path: string, received: unknown, mend: string): void {
    this.#refusals.push(invalidOption(path, received, mend))
  }

  /** What a check gives that is made elsewhere and throws; undefined where it refuses. */
  attempt<T>(check: () => T): T | undefined {
    try {
      return check()
    } catch (error) {
      if (!(error instanceof ArbalestError) || (error.code !== 'INVALID_OPTION' && error.code !== 'UNKNOWN_NAME')) throw error
      this.#refusals.push(error)
      return undefined
    }
  }

  /** A group of options; a key that means nothing is refused: a slip of the pen must not train with a default in silence. */
  group<Options extends object>(path: string, value: Options | undefined, names: OptionNames<Options>): Partial<Options> {
    const known = Object.keys(names)
    if (value === undefined) return {}
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      this.refuse(path, value, `give an object with some of ${known.join(', ')}`)
      return {}
    }
    for (const [name, received] of Object.entries(value))
      if (!Object.hasOwn(names, name)) this.refuse(`${path}.${name}`, received, `use only ${known.join(', ')}`)
    return value
  }

  /** A whole number from `least` to `most`. */
  whole(path: string, value: unknown, least: number, most: number = Number.MAX_SAFE_INTEGER): number {
    if (Number.isSafeInteger(value) && (value as number) >= least && (value as number) <= most) return value as number
    const range = most === Number.MAX_SAFE_INTEGER ? `of at least ${least}` : `from ${least} to ${most}`
    this.refuse(path, value, `use a whole number ${range}`)
    return least
  }

  /** A number for which `holds`, said in words by `range`. */
  real(path: string, value: unknown, range: string, holds: (value: number) => boolean): number {
    if (typeof value === 'number' && Number.isFinite(value) && holds(value)) return value
    this.refuse(path, value, `use a number ${range}`)
    return NaN
  }

  /** true or false. */
  truth(path: string, value: unknown): boolean {
    if (typeof value !== 'boolean') this.refuse(path, value, 'use true or false')
    return value === true
  }

  /** One of a list of names. */
  name<Name extends string>(path: string, value: unknown, known: readonly [Name, ...Name[]]): Name {
    if (known.includes(value as Name)) return value as Name
    this.#refusals.push(unknownName(path, value, known))
    return known[0]
  }
}
