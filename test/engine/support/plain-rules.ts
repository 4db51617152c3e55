/**
 * Plain models of the rules as their publications write them, in double precision, over gradients that are given to them. Learners make
 * momentum SGD with weight decay, as PyTorch does.
 */
export interface PlainLearner {
  w: Float64Array
  v: Float64Array
}

export interface PlainNumbers {
  readonly rate: number
  readonly momentum: number
  readonly decay: number
}

export type Gradients = ReadonlyMap<number, ArrayLike<number>>

export abstract class PlainRule {
  readonly learners = new Map<number, PlainLearner>()
  z: Float64Array
  /** Of the iteration that comes. */
  rate: number
  protected readonly numbers: PlainNumbers

  constructor(initial: ArrayLike<number>, numbers: PlainNumbers) {
    this.z = Float64Array.from(initial)
    this.rate = numbers.rate
    this.numbers = numbers
  }

  /** Whoever joins starts at the central model. */
  join(learner: number): void {
    this.learners.set(learner, { w: Float64Array.from(this.z), v: new Float64Array(this.z.length) })
  }

  /** One iteration of the learners that have a gradient; `ends` the round. */
  abstract iterate(gradients: Gradients, ends: boolean): void

  protected taking(gradients: Gradients): [PlainLearner, ArrayLike<number>][] {
    return [...gradients].map(([learner, gradient]) => [this.learners.get(learner)!, gradient])
  }

  protected descend(learner: PlainLearner, gradient: ArrayLike<number>): void {
    const { momentum, decay } = this.numbers
    const g = learner.w.map((w, i) => gradient[i]! + decay * w)
    learner.v = learner.v.map((v, i) => momentum * v + g[i]!)
    learner.w = learner.w.map((w, i) => w - this.rate * learner.v[i]!)
  }
}

/** Crossbow's synchronous model averaging; with `mu` 0 elastic averaging. Where no moving rate is given both have 1/k, at most 1/2. */
export class PlainSma extends PlainRule {
  #before: Float64Array
  readonly #mu: number
  readonly #alpha: number | undefined

  constructor(initial: ArrayLike<number>, numbers: PlainNumbers, mu: number, alpha?: number) {
    super(initial, numbers)
    this.#before = this.z
    this.#mu = mu
    this.#alpha = alpha
  }

  iterate(gradients: Gradients, ends: boolean): void {
    const { z } = this
    const alpha = this.#alpha ?? Math.min(1 / this.learners.size, 0.5)
    let next = z.map((value, i) => value + this.#mu * (value - this.#before[i]!))
    for (const [learner, gradient] of this.taking(gradients)) {
      const c = learner.w.map((w, i) => (ends ? alpha * (w - z[i]!) : 0))
      this.descend(learner, gradient)
      learner.w = learner.w.map((w, i) => w - c[i]!)
      next = next.map((value, i) => value + c[i]!)
    }
    if (!ends) return
    this.#before = z
    this.z = next
  }
}

/**
 * Algorithm 2 of Zhang, Choromanska and LeCun (2015), in rounds: a learner at x with velocity u takes its gradient at x + momentum u. As PyTorch's
 * velocity has no rate in it, another rate changes u in proportion, and leaves where the gradient is taken.
 */
export class PlainEamsgd extends PlainRule {
  readonly #velocities = new Map<number, Float64Array>()
  #rateBefore = this.rate

  override join(learner: number): void {
    super.join(learner)
    this.#velocities.set(learner, new Float64Array(this.z.length))
  }

  iterate(gradients: Gradients, ends: boolean): void {
    const { z, rate } = this
    const { momentum, decay } = this.numbers
    const alpha = Math.min(1 / this.learners.size, 0.5)
    for (const u of this.#velocities.values()) u.forEach((value, i) => (u[i] = (value * rate) / this.#rateBefore))
    this.#rateBefore = rate
    const next = Float64Array.from(z)
    for (const [learner, gradient] of gradients) {
      const state = this.learners.get(learner)!
      const u = this.#velocities.get(learner)!
      state.w = state.w.map((ahead, i) => {
        const x = ahead - momentum * u[i]!
        const elastic = ends ? alpha * (x - z[i]!) : 0
        const velocity = momentum * u[i]! - rate * (gradient[i]! + decay * ahead)
        u[i] = velocity
        next[i]! += elastic
        return x + velocity - elastic + momentum * velocity
      })
    }
    if (ends) this.z = next
  }
}

/** Rules whose learners make plain steps and take part with their weights. */
abstract class PlainMean extends PlainRule {
  iterate(gradients: Gradients, ends: boolean): void {
    const taking = this.taking(gradients)
    for (const [learner, gradient] of taking) this.descend(learner, gradient)
    if (ends) this.meet(this.z.map((_, i) => taking.reduce((sum, [{ w }]) => sum + w[i]!, 0) / taking.length))
  }

  protected abstract meet(mean: Float64Array): void

  protected adopt(): void {
    for (const learner of this.learners.values()) learner.w = Float64Array.from(this.z)
  }
}

/** The mean over all rounds of the learners' mean; rounds before `from` do not count. */
export class PlainPolyakRuppert extends PlainMean {
  #sum: Float64Array
  #rounds = 0
  #from: number

  constructor(initial: ArrayLike<number>, numbers: PlainNumbers, from = 0) {
    super(initial, numbers)
    this.#sum = new Float64Array(this.z.length)
    this.#from = from
  }

  protected meet(mean: Float64Array): void {
    if (this.#from-- > 0) {
      this.z = mean
      return
    }
    this.#rounds++
    this.#sum = this.#sum.map((sum, i) => sum + mean[i]!)
    this.z = this.#sum.map((sum) => sum / this.#rounds)
  }
}

export class PlainLocalSgd extends PlainMean {
  protected meet(mean: Float64Array): void {
    this.z = mean
    this.adopt()
  }
}

/** Algorithm 1 of Lookahead: the slow weights go a share of the way to the fast ones. */
export class PlainLookahead extends PlainMean {
  readonly #share: number

  constructor(initial: ArrayLike<number>, numbers: PlainNumbers, share = 0.5) {
    super(initial, numbers)
    this.#share = share
  }

  protected meet(mean: Float64Array): void {
    this.z = this.z.map((slow, i) => slow + this.#share * (mean[i]! - slow))
    this.adopt()
  }
}

/** The outer optimiser of SlowMo and of DiLoCo. */
export interface OuterNumbers {
  readonly outerLearningRate: number
  readonly outerMomentum: number
}

/** Algorithm 1 of SlowMo. */
export class PlainSlowMo extends PlainMean {
  readonly #outer: OuterNumbers
  #u = new Float64Array(this.z.length)

  constructor(initial: ArrayLike<number>, numbers: PlainNumbers, outer: OuterNumbers = { outerLearningRate: 1, outerMomentum: 0.5 }) {
    super(initial, numbers)
    this.#outer = outer
  }

  protected meet(mean: Float64Array): void {
    const { rate } = this
    const { outerLearningRate, outerMomentum } = this.#outer
    this.#u = this.#u.map((u, i) => outerMomentum * u + (this.z[i]! - mean[i]!) / rate)
    this.z = this.z.map((z, i) => z - outerLearningRate * rate * this.#u[i]!)
    this.adopt()
  }
}

/** Algorithm 1 of DiLoCo: Nesterov momentum, as PyTorch's SGD has it, on the outer gradient. */
export class PlainDiLoCo extends PlainMean {
  readonly #outer: OuterNumbers
  #u = new Float64Array(this.z.length)

  constructor(initial: ArrayLike<number>, numbers: PlainNumbers, outer: OuterNumbers = { outerLearningRate: 0.7, outerMomentum: 0.9 }) {
    super(initial, numbers)
    this.#outer = outer
  }

  protected meet(mean: Float64Array): void {
    const { outerLearningRate, outerMomentum } = this.#outer
    const gradient = this.z.map((z, i) => z - mean[i]!)
    this.#u = this.#u.map((u, i) => outerMomentum * u + gradient[i]!)
    this.z = this.z.map((z, i) => z - outerLearningRate * (gradient[i]! + outerMomentum * this.#u[i]!))
    this.adopt()
  }
}

/** One momentum SGD, on the mean gradient. */
export class PlainSsgd extends PlainRule {
  readonly #central: PlainLearner = { w: this.z, v: new Float64Array(this.z.length) }

  iterate(gradients: Gradients): void {
    const mean = this.z.map((_, i) => [...gradients.values()].reduce((sum, gradient) => sum + gradient[i]!, 0) / gradients.size)
    this.descend(this.#central, mean)
    this.z = this.#central.w
    for (const learner of this.learners.values()) learner.w = Float64Array.from(this.z)
  }
}

/**
 * GeePS's parameter server where all learners are in the same iteration: each adopts the model of `slack` iterations ago. `updates`: learners bring the steps
 * of their own optimisers, and with `ownSteps` adopt a model that has theirs already.
 */
export class PlainParameterServer extends PlainRule {
  readonly #slack: number
  readonly #brings: 'gradients' | 'updates'
  readonly #ownSteps: boolean
  readonly #models: Float64Array[] = [this.z]
  readonly #central: PlainLearner = { w: this.z, v: new Float64Array(this.z.length) }
  /** Of each learner, by iteration. */
  readonly #steps = new Map<number, Map<number, Float64Array>>()

  constructor(initial: ArrayLike<number>, numbers: PlainNumbers, slack: number, brings: 'gradients' | 'updates', ownSteps = true) {
    super(initial, numbers)
    this.#slack = slack
    this.#brings = brings
    this.#ownSteps = ownSteps && brings === 'updates'
  }

  override join(learner: number): void {
    super.join(learner)
    this.#steps.set(learner, new Map())
    this.#adopt(learner)
  }

  iterate(gradients: Gradients): void {
    const iteration = this.#models.length - 1
    if (this.#brings === 'gradients') {
      const mean = this.z.map((_, i) => [...gradients.values()].reduce((sum, gradient) => sum + gradient[i]!, 0) / gradients.size)
      this.descend(this.#central, mean)
      this.z = this.#central.w
    } else {
      let next = this.z
      for (const [learner, gradient] of gradients) {
        const self = this.learners.get(learner)!
        this.descend(self, gradient)
        const step = self.v.map((v) => this.rate * v)
        this.#steps.get(learner)!.set(iteration, step)
        next = next.map((z, i) => z - step[i]!)
      }
      this.z = next
    }
    this.#models.push(this.z)
    for (const learner of this.learners.keys()) this.#adopt(learner)
  }

  #adopt(learner: number): void {
    const iteration = this.#models.length - 1
    const from = Math.max(0, iteration - this.#slack)
    let w = this.#models[from]!
    for (const [made, step] of this.#steps.get(learner)!) if (this.#ownSteps && made >= from) w = w.map((value, i) => value - step[i]!)
    this.learners.get(learner)!.w = Float64Array.from(w)
  }
}
