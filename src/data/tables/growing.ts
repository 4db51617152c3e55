import { allocate } from '../checks.js'

type Numbers = Int32Array | Float64Array

/** A typed array that grows. */
export class Growing<Kind extends Numbers> {
  readonly #kind: { new (buffer: ArrayBuffer): Kind; readonly BYTES_PER_ELEMENT: number }
  readonly #purpose: string
  #values: Kind
  #length = 0

  /** `purpose` names the memory in an error. */
  constructor(kind: { new (buffer: ArrayBuffer): Kind; readonly BYTES_PER_ELEMENT: number }, purpose: string) {
    this.#kind = kind
    this.#purpose = purpose
    this.#values = this.#make(1024)
  }

  /** Throws OUT_OF_MEMORY. */
  push(value: number): void {
    if (this.#length === this.#values.length) {
      const larger = this.#make(2 * this.#length)
      larger.set(this.#values)
      this.#values = larger
    }
    this.#values[this.#length++] = value
  }

  /** A view. */
  values(): Kind {
    return this.#values.subarray(0, this.#length) as Kind
  }

  clear(): void {
    this.#length = 0
    this.#values = this.#make(0)
  }

  #make(length: number): Kind {
    return new this.#kind(allocate(length * this.#kind.BYTES_PER_ELEMENT, this.#purpose).buffer)
  }
}
