/** There is no time left for another measurement. */
export class OutOfTime extends Error {}

/** The time that a start may take: nothing is begun that would hardly come to its end, but for the first measurement, so that every start gets on. */
export class Allowance {
  readonly #end: number
  #begun = false

  constructor(minutes = Infinity) {
    this.#end = performance.now() + minutes * 60_000
  }

  /** Before what takes so many seconds. Throws OutOfTime. */
  begin(seconds: number): void {
    if (this.#begun && performance.now() + seconds * 1000 > this.#end) throw new OutOfTime()
    this.#begun = true
  }
}
