import { basename } from 'node:path'
import { shown } from '../../errors.js'
import { corruptFile } from '../file-errors.js'
import { parseObject } from '../json-file.js'

/** The files of a model may lie open at once. */
const MOST_SHARDS = 256

/**
 * Which file has which tensor, by `model.safetensors.index.json` of a folder: a shard is a file of that folder, so that an index from a stranger reads nothing
 * else. Throws DATA_CORRUPT.
 */
export function parseShardedIndex(text: string, file: string): ReadonlyMap<string, string> {
  const { weight_map: map } = parseObject(text, file)
  if (typeof map !== 'object' || map === null || Array.isArray(map))
    throw corruptFile(file, { where: 'weight_map', expected: 'an object from tensors to files', found: shown(map) })
  const shards = new Map<string, string>()
  for (const [tensor, shard] of Object.entries(map as Readonly<Record<string, unknown>>)) {
    if (typeof shard !== 'string' || !isFileName(shard))
      throw corruptFile(file, {
        where: `weight_map: ${shown(tensor)}`,
        expected: 'the name of a .safetensors file in the same folder',
        found: shown(shard)
      })
    shards.set(tensor, shard)
  }
  const files = new Set(shards.values()).size
  if (files === 0) throw corruptFile(file, { where: 'weight_map', expected: 'tensors', found: 'none' })
  if (files > MOST_SHARDS) throw corruptFile(file, { where: 'weight_map', expected: `at most ${MOST_SHARDS} files`, found: String(files) })
  return shards
}

/** Without a way out of the folder: no separators of any system, no null byte, no name that is hidden. */
function isFileName(shard: string): boolean {
  return basename(shard) === shard && /^[^.\\/:\0][^\\/:\0]{0,250}\.safetensors$/.test(shard)
}
