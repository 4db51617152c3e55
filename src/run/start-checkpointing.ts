import type { CheckpointWriter, CheckpointWriterOptions } from '../actors/checkpoint-writer.js'
import type { SetAside } from '../checkpoints/set-aside.js'
import type { Dataset } from '../data/dataset.js'
import type { FloatTensors } from '../formats/tensor.js'
import type { Model } from '../model/model.js'
import { Checkpointing, type Taken } from './checkpointing.js'
import type { Crew, Workplace } from './run-actors.js'
import type { JobControl } from './job.js'
import type { Programs } from '../trained/programs.js'
import type { Resumption } from '../checkpoints/resume.js'
import { measuredHere, type RunState } from '../checkpoints/run-state.js'
import type { CheckpointSettings } from '../options/checkpoint.js'

const WRITER = new URL('../actors/checkpoint-writer.js', import.meta.url)

/** What is kept, and who works for the run that is kept. */
export interface Kept {
  readonly model: Model
  readonly dataset: Dataset
  readonly programs: Programs
  readonly crew: Crew
}

/** Checkpoints of a run that begins, and what had to make way for them. */
export interface StartedCheckpointing {
  readonly checkpoints: Checkpointing
  readonly setAside: readonly SetAside[]
}

/** Starts the writer in a folder that is held. Rejects with WRITE_FAILED where what lies beyond the run's beginning cannot be moved aside. */
export async function startCheckpointing(
  { dir: folder, keep, period }: CheckpointSettings,
  { model, dataset, programs: { train, predict }, crew }: Kept,
  { engine, modules, system, handles }: Workplace,
  control: JobControl,
  resumption: Resumption | undefined
): Promise<StartedCheckpointing> {
  const options: CheckpointWriterOptions = {
    engine: modules.engine.href,
    folder,
    keep,
    parameters: train.parameters.parameters,
    model,
    normalisation: { mean: [...dataset.mean], std: [...dataset.std] },
    classNames: dataset.classNames
  }
  const writer = await system.spawn<typeof CheckpointWriter>(WRITER, 'CheckpointWriter', options, { name: 'checkpoint writer' })
  const begin = resumption?.state.iteration ?? -1
  const setAside = await writer.askWith({ deadline: Infinity }).begin(begin)
  const { group, supervisor, evaluation } = crew
  const kept = predict.values.filter(({ role }) => role === 'statistic')
  const slot = kept.length > 0 ? engine.bind(evaluation, handles.own(engine.createProgram(predict))) : 0
  const statistics = (): FloatTensors =>
    Object.fromEntries(kept.map(({ name, shape }) => [name, { shape, data: Float32Array.from(engine.readValue(evaluation, slot, name)) }]))
  const evaluator = crew.evaluators[0]!
  const tell = control.emit
  const sources = { engine, group, supervisor, evaluator, evaluation, statistics }
  return { checkpoints: new Checkpointing({ ...sources, writer, period, tell }, resumption && takenAs(resumption.state)), setAside }
}

function takenAs(state: RunState): Taken {
  return { iteration: state.iteration, evaluators: measuredHere(state) ? 'measured' : 'idle' }
}
