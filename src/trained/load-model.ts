import { loadEngine } from '../engine/contract.js'
import { BACKENDS, type BackendName, type Precision } from '../compiler/program.js'
import { modelFile, type ModelFileOptions } from '../checkpoints/find-model.js'
import { loweringBackend } from '../engine/lowering.js'
import { invalidOption, unknownName } from '../errors.js'
import { readModel, type ReadModelOptions } from '../formats/read-model.js'
import type { SavedModel } from '../formats/saved-model.js'
import { loadOperators } from '../model/composed.js'
import { inTurns } from '../turns.js'
import { predictionProgram } from './programs.js'
import { TrainedModel } from './trained-model.js'

/** How `loadModel` reads a file, and where the model runs. */
export interface LoadModelOptions extends ReadModelOptions, ModelFileOptions {
  /** `cpu` by default. */
  readonly backend?: BackendName
  readonly precision?: Exclude<Precision, 'f64'>
  /** Threads that compute a batch; 1 by default. */
  readonly threads?: number
}

const ENGINE = new URL('../engine/native.js', import.meta.url)

/**
 * Loads a trained model from a safetensors file, from a checkpoint, or from a folder of checkpoints: the newest, or with `best` the best one; or from what
 * the synchroniser of a run answers to `model()`. A file that `save` has written needs no options. For a file with PyTorch's names give `model` and, if the names differ, `names`.
 *
 * ```ts
 * const model = await loadModel('digits.safetensors')
 * const [best] = model.classify(await readImage('three.png', model.input))[0]
 * ```
 *
 * Throws DATA_NOT_FOUND, DATA_CORRUPT, SHAPE_MISMATCH, INVALID_OPTION, UNKNOWN_NAME, UNSUPPORTED_OPERATOR, ENGINE_MISSING.
 */
export async function loadModel(source: string | SavedModel, options: LoadModelOptions = {}): Promise<TrainedModel> {
  const { backend = 'cpu', precision = 'f32', threads = 1, ...reading } = options
  if (!BACKENDS.some((name) => name === backend)) throw unknownName('backend', backend, BACKENDS)
  const saved = isSaved(source) ? source : await readFile(source, reading)
  await loadOperators(saved.model)
  const engine = await loadEngine(ENGINE.href)
  const program = await inTurns(predictionProgram(saved.model, precision, loweringBackend(engine, backend, threads)))
  const replica = engine.createReplica({ backend, layout: program.parameters, threads, seed: 0 })
  return TrainedModel.of(saved, { engine, module: ENGINE, program, replica })
}

function isSaved(source: unknown): source is SavedModel {
  return typeof source === 'object' && source !== null && 'model' in source && 'weights' in source && 'statistics' in source
}

async function readFile(path: unknown, { model, best, ...reading }: ReadModelOptions & ModelFileOptions): Promise<SavedModel> {
  if (typeof path !== 'string' || path === '')
    throw invalidOption(
      'file',
      path,
      "give the path of a model's file or of a checkpoint, or what the synchroniser of a run answers to `model()`"
    )
  if (model) await loadOperators(model)
  return readModel(await modelFile(path, { best }), { ...reading, model })
}
