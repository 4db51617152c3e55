/** Plain models of asynchronous rules: who does what in which order is the caller's to say. Learners make momentum SGD with weight decay. */
interface Numbers {
  readonly rate: number
  readonly momentum: number
  readonly decay: number
}

/** Downpour SGD: fetch, compute, accumulate, push. */
export class PlainDownpour {
  z: Float64Array
  readonly learners = new Map<number, { w: Float64Array; v: Float64Array; accumulated: Float64Array; iterations: number }>()
  readonly #numbers: Numbers
  readonly #every: { readonly push: number; readonly fetch: number }

  constructor(initial: ArrayLike<number>, numbers: Numbers, every: { readonly push: number; readonly fetch: number }) {
    this.z = Float64Array.from(initial)
    this.#numbers = numbers
    this.#every = every
  }

  join(learner: number): void {
    const zeros = () => new Float64Array(this.z.length)
    this.learners.set(learner, { w: Float64Array.from(this.z), v: zeros(), accumulated: zeros(), iterations: 0 })
  }

  begin(learner: number): void {
    const self = this.learners.get(learner)!
    if (self.iterations % this.#every.fetch === 0) self.w = Float64Array.from(this.z)
  }

  end(learner: number, gradient: ArrayLike<number>): void {
    const { rate, momentum, decay } = this.#numbers
    const self = this.learners.get(learner)!
    self.v = self.v.map((v, i) => momentum * v + gradient[i]! + decay * self.w[i]!)
    self.w = self.w.map((w, i) => w - rate * self.v[i]!)
    self.accumulated = self.accumulated.map((sum, i) => sum + rate * self.v[i]!)
    self.iterations++
    if (self.iterations % this.#every.push === 0) this.push(learner)
  }

  push(learner: number): void {
    const self = this.learners.get(learner)!
    this.z = this.z.map((z, i) => z - self.accumulated[i]!)
    self.accumulated = new Float64Array(this.z.length)
  }
}

/** Hogwild: a gradient taken at the central model of an earlier moment steps the central model of now. */
export class PlainHogwild {
  z: Float64Array
  readonly learners = new Map<number, { v: Float64Array }>()
  readonly #numbers: Numbers

  constructor(initial: ArrayLike<number>, numbers: Numbers) {
    this.z = Float64Array.from(initial)
    this.#numbers = numbers
  }

  join(learner: number): void {
    this.learners.set(learner, { v: new Float64Array(this.z.length) })
  }

  begin(): void {}

  end(learner: number, gradient: ArrayLike<number>): void {
    const { rate, momentum, decay } = this.#numbers
    const self = this.learners.get(learner)!
    self.v = self.v.map((v, i) => momentum * v + gradient[i]! + decay * this.z[i]!)
    this.z = this.z.map((z, i) => z - rate * self.v[i]!)
  }
}
