import { invalidOption, together, unknownName, type ArbalestError } from '../errors.js'

/** What a rule may know of its run. */
export interface RuleContext {
  /** How many there are at the run's start. */
  readonly learners: number
  /** Iterations that the run will have. */
  readonly iterations: number
  /** The first iteration after so many epochs. */
  readonly iterationAt: (epoch: number) => number
}

/** A rule's options, read by name; what is wrong with them is told together. */
export class RuleOptions {
  readonly #given: Readonly<Record<string, unknown>>
  readonly #known: string[] = []
  readonly #refusals: ArbalestError[] = []

  constructor(given: object) {
    this.#given = given as Readonly<Record<string, unknown>>
  }

  /** A whole number of at least `least`. */
  whole(name: string, otherwise: number, least = 1): number {
    return this.#read(name, otherwise, `use a whole number of at least ${least}`, (value) => Number.isSafeInteger(value) && value >= least)
  }

  /** A number for which `holds`, said in words by `range`. */
  real<Otherwise extends number | null>(
    name: string,
    otherwise: Otherwise,
    range: string,
    holds: (value: number) => boolean
  ): number | Otherwise {
    return this.#read(name, otherwise, `use a number ${range}`, (value) => Number.isFinite(value) && holds(value))
  }

  /** One of a list of names. */
  name<Name extends string>(name: string, otherwise: Name, known: readonly Name[]): Name {
    this.#known.push(name)
    const value = this.#given[name] ?? otherwise
    if (known.includes(value as Name)) return value as Name
    this.#refusals.push(unknownName(`synchroniser.${name}`, value, known))
    return otherwise
  }

  truth(name: string, otherwise: boolean): boolean {
    this.#known.push(name)
    const value = this.#given[name] ?? otherwise
    if (typeof value === 'boolean') return value
    this.refuse(name, value, 'use true or false')
    return otherwise
  }

  refuse(name: string, received: unknown, mend: string): void {
    this.#refusals.push(invalidOption(`synchroniser.${name}`, received, mend))
  }

  /** Whether nothing has been refused so far. */
  get sound(): boolean {
    return this.#refusals.length === 0
  }

  /** Throws INVALID_OPTION or UNKNOWN_NAME for all that was refused, and for every option that nobody has read. */
  done(): void {
    const mend = this.#known.length > 0 ? `use only ${this.#known.join(', ')}` : 'this rule has no options'
    for (const [name, value] of Object.entries(this.#given)) if (!this.#known.includes(name)) this.refuse(name, value, mend)
    const [first, ...others] = this.#refusals
    if (first) throw together([first, ...others])
  }

  #read<Otherwise extends number | null>(
    name: string,
    otherwise: Otherwise,
    mend: string,
    holds: (value: number) => boolean
  ): number | Otherwise {
    this.#known.push(name)
    const value = this.#given[name]
    if (value === undefined || (value === null && otherwise === null)) return otherwise
    if (typeof value === 'number' && holds(value)) return value
    this.refuse(name, value, mend)
    return otherwise
  }
}

/** From 0 to below 1. */
export function momentumOf(options: RuleOptions, name: string, otherwise: number): number {
  return options.real(name, otherwise, 'from 0 to below 1', (value) => value >= 0 && value < 1)
}

/** An iteration given in epochs. */
export function iterationOf(options: RuleOptions, name: string, otherwise: number, context: RuleContext): number {
  const epoch = options.real(name, null, 'of epochs of at least 0', (value) => value >= 0)
  return epoch === null ? otherwise : context.iterationAt(epoch)
}
