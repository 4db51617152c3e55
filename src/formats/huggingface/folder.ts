import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { ArbalestError, printable, unknownName } from '../../errors.js'
import { foundAt, unreadableFile } from '../file-errors.js'
import { readObject, readText, type PlainObject } from '../json-file.js'
import { readTokenizerFiles, type TokenizerFiles } from '../tokenizer/tokenizer-files.js'
import type { Architecture, FolderModel } from './architecture.js'
import { classesOf } from './config-fields.js'
import type { WeightFiles } from './folder-weights.js'
import { gpt2 } from './gpt2.js'
import { pixelsOf, type FolderPixels } from './preprocessor.js'
import { resnet } from './resnet.js'
import { parseShardedIndex } from './sharded-index.js'
import { vit } from './vit.js'

/** The architectures that are read and written. */
export const ARCHITECTURES: readonly Architecture[] = [gpt2, resnet, vit]

export const CONFIG = 'config.json'
const WEIGHTS = 'model.safetensors'
const INDEX = `${WEIGHTS}.index.json`
const PREPROCESSOR = 'preprocessor_config.json'

/** A folder as `save_pretrained` of the library transformers writes it, checked but for its weights. */
export interface HuggingFaceFolder {
  readonly path: string
  readonly architecture: Architecture
  readonly model: FolderModel
  readonly weights: WeightFiles
  readonly pixels?: FolderPixels
  readonly classNames?: readonly string[]
  /** Of a model of texts. */
  readonly tokenizer?: TokenizerFiles
}

/** Whether a path is that of such a folder. */
export function isHuggingFaceFolder(path: string): boolean {
  return existsSync(join(path, CONFIG)) && foundAt(path)?.isDirectory() === true
}

/**
 * Reads all of a folder but its weights: config.json, the index of sharded weights, preprocessor_config.json, the tokenizer. Throws DATA_NOT_FOUND for a file that is not
 * there, UNKNOWN_NAME for an architecture that is not known, DATA_CORRUPT, UNSUPPORTED_OPERATOR, SHAPE_MISMATCH.
 */
export function readFolder(path: string): HuggingFaceFolder {
  const file = join(path, CONFIG)
  const config = readObject(file)
  const architecture = architectureOf(config, file)
  const model = architecture.read(config, file)
  const weights = weightsOf(path)
  const within = join(path, PREPROCESSOR)
  const { channels } = model
  const pixels =
    channels !== undefined && existsSync(within)
      ? pixelsOf(readObject(within), within, { architecture: architecture.type, channels })
      : undefined
  const { names } = architecture.samples === 'images' ? classesOf(config) : {}
  const tokenizer = architecture.samples === 'tokens' ? readTokenizerFiles(path) : undefined
  return {
    path,
    architecture,
    model,
    weights,
    ...(pixels && { pixels }),
    ...(names && { classNames: names }),
    ...(tokenizer && { tokenizer })
  }
}

function architectureOf({ model_type: type, architecture: ofTimm }: PlainObject, file: string): Architecture {
  const found = ARCHITECTURES.find((each) => each.type === type)
  if (found) return found
  if (type === undefined && typeof ofTimm === 'string') {
    const message = `${file}: it is that of a folder of timm, model ${printable(ofTimm)}; name its ${WEIGHTS}, and give the model of the zoo with its mean and std (--model NAME --input SHAPE --classes COUNT --mean NUMBERS --std NUMBERS)`
    throw new ArbalestError('UNSUPPORTED_OPERATOR', message, { data: { file, received: ofTimm } })
  }
  throw unknownName(
    `model_type of ${file}`,
    type,
    ARCHITECTURES.map((each) => each.type)
  )
}

/** As transformers looks for them: a file, else an index. Throws DATA_NOT_FOUND, DATA_CORRUPT. */
function weightsOf(path: string): WeightFiles {
  if (existsSync(join(path, WEIGHTS))) return { files: [WEIGHTS] }
  const file = join(path, INDEX)
  if (!existsSync(file)) {
    const message = `${path}: it has neither ${WEIGHTS} nor ${INDEX}; save the model with save_pretrained (safe_serialization, as is usual), or name another folder`
    throw new ArbalestError('DATA_NOT_FOUND', message, { data: { file: join(path, WEIGHTS) } })
  }
  const shards = parseShardedIndex(readText(file), file)
  const files = [...new Set(shards.values())]
  const missing = files.find((name) => !existsSync(join(path, name)))
  if (missing !== undefined)
    throw unreadableFile(join(path, missing), new Error(`${INDEX} names it`), 'complete the folder: download its shards again')
  return { files, index: { file, shards } }
}
