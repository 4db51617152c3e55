import { compileGraph } from '../../../src/compiler/compile.js'
import type { EngineBackend, Program } from '../../../src/compiler/program.js'
import type { Handle } from '../../../src/engine/contract.js'
import { loweringBackend } from '../../../src/engine/lowering.js'
import { engine } from '../../../src/engine/native.js'
import type { MemoryLimit } from '../../../src/compiler/tiers/fit.js'
import { buildGraph, type LoadOptions } from '../../../src/model/graph-builder.js'
import { elements, NONE, type Graph } from '../../../src/model/graph.js'
import type { Model } from '../../../src/model/model.js'
import { keyOf, philox } from '../../../src/model/philox.js'

/** Numbers in [-1, 1) that f32 holds exactly, a function of the key. */
export function numbers(count: number, key: number): Float64Array {
  return Float64Array.from({ length: count }, (_, i) => (philox(keyOf(key), [i, 0, 0, 0])[0] >>> 8) * 2 ** -23 - 1)
}

interface TrainingStepOptions {
  readonly backend: EngineBackend
  readonly precision: 'f32' | 'f64' | 'bf16'
  /** No operator of the forward pass is joined to another one, and each of its results keeps its memory to the step's end. */
  readonly apart?: boolean
  readonly freeze?: readonly string[]
  readonly limit?: MemoryLimit
  /** What is mixed has numbers as targets, not classes. */
  readonly load?: LoadOptions
}

/** A training step on a backend of the engine, with inputs, targets and weights from a seed, the same for every backend. */
export class TrainingStep {
  readonly program: Program
  readonly weights: Float64Array
  readonly #replica: Handle
  readonly #slot: number

  constructor(
    model: Model,
    batch: number,
    seed: number,
    { backend, precision, apart = false, freeze = [], limit, load = {} }: TrainingStepOptions
  ) {
    const graph = buildGraph(model, { batch, mode: 'train', freeze, load })
    const unloaded = { ...graph, operators: graph.operators.filter(({ kind }) => kind !== 'load') }
    const compiled = apart ? withEveryName(unloaded) : unloaded
    this.program = compileGraph(compiled, loweringBackend(engine, backend), { mode: 'train', precision, ...(limit && { limit }) })
    const layout = this.program.parameters
    this.#replica = engine.createReplica({ backend, layout, threads: 1, seed })
    const program = engine.createProgram(this.program)
    this.#slot = engine.bind(this.#replica, program)
    engine.release(program)
    this.weights = numbers(layout.elements, seed)
    const { input, target, output } = this.program.named
    // Tokens are as many as classes.
    const classes = this.program.values[output!]!.shape.at(-1)!
    for (const [name, id, key] of [
      ['input', input!, seed + 1],
      ['target', target!, seed + 2]
    ] as const) {
      const { shape, type } = this.program.values[id]!
      const drawn = numbers(elements(shape), key)
      this.#write(name, type === 'i32' ? Int32Array.from(drawn, (value) => Math.floor(((value + 1) / 2) * classes)) : drawn)
    }
  }

  loss(weights: Float64Array): number {
    engine.writeVector(this.#replica, 'weights', this.#own(weights))
    engine.runSegment(this.#replica, this.#slot, 'forward')
    return engine.readValue(this.#replica, this.#slot, 'loss')[0]!
  }

  /** At `weights`, in canonical order. */
  gradients(): Float64Array {
    this.loss(this.weights)
    engine.runSegment(this.#replica, this.#slot, 'backward')
    return Float64Array.from(engine.readVector(this.#replica, 'gradients'))
  }

  release(): void {
    engine.release(this.#replica)
  }

  #write(name: string, data: Float64Array | Int32Array): void {
    engine.writeValue(this.#replica, this.#slot, name, data instanceof Int32Array ? data : this.#own(data))
  }

  #own(data: Float64Array): Float32Array | Float64Array {
    return this.program.precision === 'f64' ? data : Float32Array.from(data)
  }
}

/** What has a name is not fused away, and nothing overwrites it. */
export function withEveryName(graph: Graph): Graph {
  const results = graph.operators.flatMap(({ outputs }) => outputs.filter((id) => id !== NONE))
  return { ...graph, named: { ...Object.fromEntries(results.map((id) => [graph.values[id]!.name, id])), ...graph.named } }
}
