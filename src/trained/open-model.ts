import { loadEngine } from '../engine/contract.js'
import { BACKENDS } from '../compiler/program.js'
import { findModelFile, type ModelFileOptions } from '../checkpoints/find-model.js'
import { loweringBackend } from '../engine/lowering.js'
import { didYouMean } from '../did-you-mean.js'
import { invalidOption, unknownName } from '../errors.js'
import { readModelFile, type ReadModelOptions } from '../formats/read-model.js'
import type { SavedModel } from '../formats/saved-model.js'
import { loadOperators } from '../model/composed.js'
import { inTurns } from '../turns.js'
import type { LoadModelOptions } from './load-model-options.js'
import { predictionProgram } from './programs.js'
import { TrainedModel } from './trained-model.js'

const ENGINE = new URL('../engine/native.js', import.meta.url)

const PRECISIONS = ['f32', 'bf16'] as const
const MOST_THREADS = 1024

const OPTIONS: Readonly<Record<keyof LoadModelOptions, true>> = {
  model: true,
  names: true,
  reinitialise: true,
  strict: true,
  seed: true,
  normalisation: true,
  classNames: true,
  context: true,
  best: true,
  backend: true,
  precision: true,
  threads: true
}

/** See `loadModel`. */
export async function openModel(source: string | SavedModel, options: LoadModelOptions = {}): Promise<TrainedModel> {
  const known = Object.keys(OPTIONS)
  for (const [name, value] of Object.entries(options))
    if (!known.includes(name)) throw invalidOption(name, value, `use only ${known.join(', ')}${didYouMean(name, known)}`)
  const { backend = 'cpu', precision = 'f32', threads = 1, ...reading } = options
  if (!BACKENDS.some((name) => name === backend)) throw unknownName('backend', backend, BACKENDS)
  if (!PRECISIONS.some((name) => name === precision)) throw unknownName('precision', precision, PRECISIONS)
  if (!Number.isInteger(threads) || threads < 1 || threads > MOST_THREADS)
    throw invalidOption('threads', threads, `use a whole number from 1 to ${MOST_THREADS}`)
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
  return readModelFile(await findModelFile(path, { best }), { ...reading, model })
}
