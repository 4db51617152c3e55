import type { PlacedParameter } from '../compiler/program.js'
import type { SnapshotContents } from '../engine/contract.js'
import { shown } from '../errors.js'
import { corruptFile } from '../formats/file-errors.js'
import { writeSafetensors, type SafetensorsFile } from '../formats/safetensors.js'
import type { Tensor } from '../formats/tensor.js'
import { elements } from '../model/graph.js'

/** The key of a snapshot's counts in the metadata of the file. */
const COUNTS = 'counts'

/**
 * Writes vectors of the parameters' layout to a safetensors file. The part of each parameter is a tensor, such as `velocity/fc.weight`. `read` returns a
 * vector in canonical order.
 */
export async function writeVectors(
  path: string,
  parameters: readonly PlacedParameter[],
  { vectors, counts, read }: Pick<SnapshotContents, 'counts'> & { vectors: readonly string[]; read: (name: string) => Vector }
): Promise<void> {
  const tensors = vectors.flatMap((vector) => {
    const whole = read(vector)
    return parameters.map(({ name, shape, canonical }): [string, Tensor] => [
      `${vector}/${name}`,
      { shape, data: whole.subarray(canonical, canonical + elements(shape)) }
    ])
  })
  await writeSafetensors(path, tensors, { metadata: { [COUNTS]: JSON.stringify(counts) } })
}

/** Throws DATA_CORRUPT if the file's tensors are not those of these parameters. */
export async function readVectors(file: SafetensorsFile, parameters: readonly PlacedParameter[]): Promise<SnapshotContents> {
  const names = new Set([...file.tensors.keys()].map((name) => name.slice(0, name.indexOf('/'))))
  const size = parameters.reduce((sum, { shape }) => sum + elements(shape), 0)
  const vectors: Record<string, Vector> = {}
  for (const vector of names) {
    let whole: Vector | undefined
    for (const { name, shape, canonical } of parameters) {
      if (!file.tensors.has(`${vector}/${name}`))
        throw corruptFile(file.path, { where: vector, expected: `a tensor of ${name}`, found: 'none' })
      const { data } = await file.read(`${vector}/${name}`)
      const sound = (data instanceof Float32Array || data instanceof Float64Array) && data.length === elements(shape)
      if (!sound)
        throw corruptFile(file.path, { where: `${vector}/${name}`, expected: `${elements(shape)} floats`, found: `${data.length} numbers` })
      whole ??= data instanceof Float64Array ? new Float64Array(size) : new Float32Array(size)
      whole.set(data, canonical)
    }
    if (whole) vectors[vector] = whole
  }
  return { vectors, counts: countsOf(file) }
}

function countsOf({ path, metadata }: SafetensorsFile): Record<string, number> {
  const text = metadata[COUNTS] ?? '{}'
  try {
    const counts: unknown = JSON.parse(text)
    if (text.startsWith('{') && Object.values(counts as object).every(Number.isSafeInteger)) return counts as Record<string, number>
  } catch {
    // Refused below, as JSON that is no record of counts.
  }
  throw corruptFile(path, { where: `metadata ${COUNTS}`, expected: 'whole numbers by name as JSON', found: shown(text) })
}

type Vector = Float32Array | Float64Array
