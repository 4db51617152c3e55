import type { MakeTarget } from '../support/target.js'
import { callsTarget } from './calls.js'
import { checkpointsTarget } from './checkpoints.js'
import { cifarTarget, idxTarget, textTarget } from './data-files.js'
import { shardedIndexesTarget, tokenizersTarget } from './huggingface.js'
import { imagesTarget } from './images.js'
import { modelsTarget } from './models.js'
import { onnxTarget } from './onnx.js'
import { programTarget } from './program.js'
import { safetensorsTarget } from './safetensors.js'
import { settingsTarget } from './settings.js'
import { csvTarget, parquetTarget } from './tables.js'
import { textsTarget } from './texts.js'

/** The fuzz targets by name. */
export const targets: Readonly<Record<string, MakeTarget>> = {
  program: programTarget,
  calls: callsTarget,
  settings: settingsTarget,
  safetensors: safetensorsTarget,
  models: modelsTarget,
  checkpoints: checkpointsTarget,
  idx: idxTarget,
  cifar: cifarTarget,
  text: textTarget,
  csv: csvTarget,
  parquet: parquetTarget,
  texts: textsTarget,
  tokenizers: tokenizersTarget,
  shardedIndexes: shardedIndexesTarget,
  images: imagesTarget,
  onnx: onnxTarget
}
