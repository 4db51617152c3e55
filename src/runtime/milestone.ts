/** Something that comes to pass once, and that any number may wait for. */
export class Milestone {
  readonly reached: Promise<void>
  #reach!: () => void

  constructor() {
    this.reached = new Promise((resolve) => (this.#reach = resolve))
  }

  reach(): void {
    this.#reach()
  }
}
