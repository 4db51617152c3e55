import { ArbalestError, shown } from '../errors.js'
// Every kind of layer adds itself to the table.
import './composed.js'
import './operators/index.js'
import { NONE, type ComposedGradient, type Operator, type ValueId } from './graph.js'
import type { GraphWriter } from './graph-writer.js'
import { invalidLayer } from './layer-checks.js'
import type { Layer } from './layer.js'
import { layerRow } from './operators/layer-table.js'
import { atOnce, type Pieces } from '../turns.js'
import { LayerWriter, type BatchStatistics, type LayerContext, type Mode } from './operators/layer-writer.js'

/** Turns layers into operators, one after another. */
export class LayerOperators implements LayerContext {
  readonly graph: GraphWriter
  readonly mode: Mode
  readonly batchNorms: BatchStatistics[] = []
  readonly composed: ComposedGradient[] = []
  readonly named: Record<string, ValueId> = {}
  dropouts = 0
  /** Of layers that are frozen. */
  readonly #frozen: Operator[] = []

  constructor(graph: GraphWriter, mode: Mode) {
    this.graph = graph
    this.mode = mode
  }

  sequence(layers: readonly Layer[], x: ValueId, prefix = ''): ValueId {
    return atOnce(this.sequenceInPieces(layers, x, prefix))
  }

  /** The same, a layer at a time. */
  *sequenceInPieces(layers: readonly Layer[], x: ValueId, prefix = ''): Pieces<ValueId> {
    const names = layerNames(layers, prefix)
    let value = x
    for (const [i, layer] of layers.entries()) {
      const [first, before] = [this.graph.size, this.graph.operatorCount]
      const to = new LayerWriter(names[i]!, this, prefix)
      value = layerRow(layer.kind)!.build(layer, to, value)
      if (to.truth('frozen', layer.frozen ?? false)) {
        this.graph.freeze(first)
        this.#frozen.push(...this.graph.operatorsAfter(before))
      }
      yield
    }
    return value
  }

  /** Folds the statistics of each batch norm into the running ones; at the end, so that nothing stands between operators to be fused. */
  foldStatistics(): void {
    for (const { name, moments, running } of this.batchNorms)
      this.graph.operator('foldStatistics', `${name}.fold`, [...moments, ...running], running)
  }

  /** Throws INVALID_MODEL for a frozen layer whose weight belongs to another layer, which learns. */
  checkFrozen(): void {
    for (const { name, inputs } of this.#frozen) {
      const foreign = inputs.filter((id) => id !== NONE).map((id) => this.graph.get(id))
      const learning = foreign.find(({ role, frozen }) => role === 'parameter' && !frozen)
      if (learning) throw invalidLayer(name, 'frozen', true, `its weight is ${learning.name}, which learns: freeze that layer too`)
    }
  }
}

/**
 * One name a layer: its own where it has one, else its kind and the first number that is free among its neighbours: `conv1`, `bn1`,
 * `conv2`. Throws INVALID_MODEL for names given twice.
 */
function layerNames(layers: readonly Layer[], prefix: string): string[] {
  const taken = new Set<string>()
  for (const { name } of layers) {
    if (name === undefined) continue
    if (typeof name !== 'string' || name === '' || /\s/.test(name))
      throw new ArbalestError(
        'INVALID_MODEL',
        `layer ${prefix}${typeof name === 'string' ? name : shown(name)}: a name has at least one character and no space; give it another`
      )
    if (taken.has(name)) throw new ArbalestError('INVALID_MODEL', `layer ${prefix}${name}: two layers have this name; rename one`)
    taken.add(name)
  }
  const last = new Map<string, number>()
  return layers.map(({ name, kind }) => {
    if (name !== undefined) return prefix + name
    const { stem } = layerRow(kind)!
    let number = (last.get(stem) ?? 0) + 1
    while (taken.has(`${stem}${number}`)) number++
    last.set(stem, number)
    return `${prefix}${stem}${number}`
  })
}
