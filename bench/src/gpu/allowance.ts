/** There is no time left for another measurement. */
export class OutOfTime extends Error {}

/** The time that a start may take. The first measurement always begins, so that every start makes progress; a later one only if it can end in time. */
export class Allowance {
  readonly #end: number
  #begun = false

  constructor(minutes = Infinity) {
    this.#end = performance.now() + minutes * 60_000
  }

  /** Call it before work that takes `seconds`. Throws OutOfTime. */
  begin(seconds: number): void {
    if (this.#begun && performance.now() + seconds * 1000 > this.#end) throw new OutOfTime()
    this.#begun = true
  }
}
