/** Our actor; peers serve the same object. */
export class Counter {
  #added = 0

  echo(value: number): number {
    return value
  }

  add(_value: number): void {
    this.#added++
  }

  added(): number {
    return this.#added
  }
}
