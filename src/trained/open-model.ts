import { loadEngine } from '../engine/contract.js'
import { BACKENDS } from '../compiler/program.js'
import { findModelFile, modelFileOptions, type ModelFileOptions } from '../checkpoints/find-model.js'
import { loweringBackend } from '../engine/lowering.js'
import { invalidOption } from '../errors.js'
import { readModelOptions, type ReadModelOptions } from '../formats/import-options.js'
import { readModelFile } from '../formats/read-model.js'
import { checkSaved, type SavedModel } from '../formats/saved-model.js'
import { loadOperators } from '../model/composed.js'
import { check } from '../schema/faults.js'
import { group, option } from '../schema/group.js'
import { oneOf, whole } from '../schema/values.js'
import { inTurns } from '../turns.js'
import type { LoadModelOptions } from './load-model-options.js'
import { predictionProgram } from './programs.js'
import { TrainedModel } from './trained-model.js'

const ENGINE = new URL('../engine/native.js', import.meta.url)

const loadModelOptions = group({
  ...readModelOptions.entries,
  ...modelFileOptions.entries,
  backend: option(oneOf(BACKENDS), { default: 'cpu' }),
  precision: option(oneOf(['f32', 'bf16']), { default: 'f32' }),
  threads: option(whole({ min: 1, max: 1024 }), { default: 1 })
})

/** See `loadModel`. */
export async function openModel(source: string | SavedModel, options: LoadModelOptions = {}): Promise<TrainedModel> {
  const { backend, precision, threads, ...reading } = check(loadModelOptions, options)
  const saved = isSaved(source) ? source : await readFile(source, reading)
  checkSaved(saved)
  await loadOperators(saved.model)
  const engine = await loadEngine(ENGINE.href)
  const program = await inTurns(predictionProgram(saved.model, precision, loweringBackend(engine, backend, threads)))
  const replica = engine.createReplica({ backend, layout: program.parameters, threads, seed: 0 })
  return TrainedModel.of(saved, { engine, module: ENGINE, program, replica, threads })
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
  return readModelFile(await findModelFile(path, { best }), { ...reading, model })
}
