import { ArbalestError, printable, shown } from '../../errors.js'
import { elements, sameShape } from '../../model/graph.js'
import { corruptFile } from '../file-errors.js'
import { hasFloats, type TensorSource } from '../import-weights.js'
import type { TensorEntry } from '../safetensors.js'
import type { Tensor } from '../tensor.js'

/** How a tensor of a model of ours is called and laid out there. */
export interface TensorRule {
  /** In PyTorch's names of statistics. */
  readonly ours: string
  /** One tensor, or several of one shape whose first axes together are ours. */
  readonly theirs: readonly string[]
  /** Their two axes are in the other order. */
  readonly turned?: boolean
  /** A tensor that the folder may have besides, with the same elements as theirs. */
  readonly copy?: string
  /** Of their first rows so many are ours. */
  readonly rows?: number
}

/**
 * A folder's tensors as the model calls and lays them out. Tensors without a rule keep their names, unless `ignored` says that the model does not need them. Where a
 * folder was saved without its head, the names lack `prefix`.
 */
export class RuledTensors implements TensorSource {
  readonly path: string
  readonly tensors: ReadonlyMap<string, TensorEntry>
  readonly #source: TensorSource
  readonly #rules: ReadonlyMap<string, TensorRule>

  constructor(source: TensorSource, rules: readonly TensorRule[], { prefix, ignored }: { prefix: string; ignored: RegExp }) {
    this.path = source.path
    this.#source = source
    const found = (name: string) => (source.tensors.has(name) || !name.startsWith(prefix) ? name : name.slice(prefix.length))
    const present = rules
      .map((rule) => ({ ...rule, theirs: rule.theirs.map(found) }))
      .filter(({ theirs }) => theirs.every((name) => source.tensors.has(name)))
    this.#rules = new Map(present.map((rule) => [rule.ours, rule]))
    const used = new Set(present.flatMap(({ theirs, copy }) => (copy === undefined ? theirs : [...theirs, copy])))
    this.tensors = new Map([
      ...present.map((rule): [string, TensorEntry] => [rule.ours, this.#entry(rule)]),
      ...[...source.tensors].filter(([name]) => !used.has(name) && !ignored.test(name))
    ])
  }

  async read(name: string): Promise<Tensor> {
    const rule = this.#rules.get(name)
    if (!rule) return this.#source.read(name)
    const parts: Tensor[] = []
    for (const theirs of rule.theirs) parts.push(await this.#source.read(theirs))
    if (rule.copy !== undefined && this.#source.tensors.has(rule.copy)) await this.#checkCopy(rule.copy, rule.theirs[0]!, parts[0]!)
    const { shape } = this.tensors.get(name)!
    const joined = joinedOf(parts.map(({ data }) => data as Float32Array))
    if (rule.turned === true) return { shape, data: turned(joined, parts[0]!.shape) }
    return { shape, data: joined.subarray(0, elements(shape)) }
  }

  /** A config may tie what was trained apart; versions of transformers differ in which of the two tensors they take then. Throws DATA_CORRUPT. */
  async #checkCopy(copy: string, name: string, { data }: Tensor): Promise<void> {
    const other = (await this.#source.read(copy)).data
    if (other.length === data.length && other.every((value, i) => value === data[i])) return
    const fix = 'say in config.json that they are not tied (tie_word_embeddings: false), or take the tensor out that is not used'
    throw corruptFile(this.path, {
      where: `tensor ${copy}`,
      expected: `the numbers of ${name}, to which config.json ties it`,
      found: 'others',
      fix
    })
  }

  /** As the model has it. A shape that does not fit the rule stays as it is, for the import to refuse, and so does a type of no floats. Throws DATA_CORRUPT for parts of several shapes. */
  #entry({ theirs, turned: isTurned, rows }: TensorRule): TensorEntry {
    const entries = theirs.map((name) => this.#source.tensors.get(name)!)
    const [first] = entries as [TensorEntry, ...TensorEntry[]]
    const other = entries.findIndex(({ shape }) => !sameShape(shape, first.shape))
    if (other > 0)
      throw corruptFile(this.path, {
        where: `tensor ${printable(theirs[other]!)}`,
        expected: `${shown(first.shape)}, the shape of ${printable(theirs[0]!)}`,
        found: shown(entries[other]!.shape)
      })
    const { type } = entries.find((entry) => !hasFloats(entry)) ?? first
    const shape = entries.length > 1 ? [entries.length * (first.shape[0] ?? 1), ...first.shape.slice(1)] : first.shape
    return { ...first, type, shape: shapeOf(shape, { isTurned, rows }) }
  }
}

function shapeOf(
  shape: readonly number[],
  { isTurned, rows }: { readonly isTurned: boolean | undefined; readonly rows: number | undefined }
): readonly number[] {
  if (isTurned === true && shape.length === 2) return [shape[1]!, shape[0]!]
  return rows !== undefined && shape.length > 1 && shape[0]! > rows ? [rows, ...shape.slice(1)] : shape
}

function joinedOf(parts: readonly Float32Array[]): Float32Array {
  if (parts.length === 1) return parts[0]!
  const joined = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let at = 0
  for (const part of parts) {
    joined.set(part, at)
    at += part.length
  }
  return joined
}

/** (rows, columns) to (columns, rows). */
function turned(data: Float32Array, [rows, columns]: readonly number[]): Float32Array {
  const to = new Float32Array(data.length)
  for (let row = 0; row < rows!; row++)
    for (let column = 0; column < columns!; column++) to[column * rows! + row] = data[row * columns! + column]!
  return to
}

/** A model's tensors as a folder has them, by the names there. Throws INTERNAL if a tensor has no rule. */
export function theirTensors(
  rules: readonly TensorRule[],
  tensors: ReadonlyMap<string, Tensor<Float32Array>>
): ReadonlyMap<string, Tensor<Float32Array>> {
  const byName = new Map(rules.map((rule) => [rule.ours, rule]))
  const theirs = new Map<string, Tensor<Float32Array>>()
  for (const [name, tensor] of tensors) {
    const rule = byName.get(name)
    if (!rule) throw new ArbalestError('INTERNAL', `tensor ${name}: it has no name in the folder`)
    for (const [i, their] of rule.theirs.entries()) theirs.set(their, partOf(tensor, rule, i))
  }
  return theirs
}

function partOf({ shape, data }: Tensor<Float32Array>, { theirs, turned: isTurned }: TensorRule, part: number): Tensor<Float32Array> {
  if (isTurned === true) return { shape: [shape[1]!, shape[0]!], data: turned(data, shape) }
  if (theirs.length === 1) return { shape, data }
  const size = data.length / theirs.length
  return { shape: [shape[0]! / theirs.length, ...shape.slice(1)], data: data.subarray(part * size, (part + 1) * size) }
}
