import { loadEngine } from '../engine/contract.js'
import { BACKENDS, type BackendName, type Precision } from '../compiler/program.js'
import { modelFile, type ModelFileOptions } from '../checkpoints/model-file.js'
import { loweringBackend } from '../engine/lowering.js'
import { unknownName } from '../errors.js'
import { readModel, type ReadModelOptions } from '../formats/read-model.js'
import { loadOperators } from '../model/composed.js'
import { predictionProgram } from './programs.js'
import { TrainedModel } from './trained-model.js'

/** How `loadModel` reads a file, and where the model is computed. */
export interface LoadModelOptions extends ReadModelOptions, ModelFileOptions {
  /** `cpu` if left out. */
  readonly backend?: BackendName
  readonly precision?: Exclude<Precision, 'f64'>
  /** Threads that work on a batch; 1 if left out. */
  readonly threads?: number
}

const ENGINE = new URL('../engine/native.js', import.meta.url)

/**
 * A trained model from a checkpoint, a folder of them (the newest, or with `best` the best), or a safetensors file: one that `save` has written
 * tells all that is needed; for one in PyTorch's names give `model` and, where its names differ, `names`.
 *
 * ```ts
 * const model = await loadModel('digits.safetensors')
 * const [best] = model.classify(await readImage('three.png', model.input))[0]
 * ```
 *
 * Throws DATA_NOT_FOUND, DATA_CORRUPT, SHAPE_MISMATCH, INVALID_OPTION, UNSUPPORTED_OPERATOR, ENGINE_MISSING.
 */
export async function loadModel(path: string, options: LoadModelOptions = {}): Promise<TrainedModel> {
  const { backend = 'cpu', precision = 'f32', threads = 1, model, best, ...reading } = options
  if (!BACKENDS.some((name) => name === backend)) throw unknownName('backend', backend, BACKENDS)
  if (model) await loadOperators(model)
  const saved = await readModel(await modelFile(path, { best }), { ...reading, model })
  const engine = await loadEngine(ENGINE.href)
  const program = predictionProgram(saved.model, precision, loweringBackend(engine, backend, threads))
  const replica = engine.createReplica({ backend, layout: program.parameters, threads, seed: 0 })
  return TrainedModel.of(saved, { engine, module: ENGINE, program, replica })
}
