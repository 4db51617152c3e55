import type { Program } from '../compiler/program.js'
import { ArbalestError } from '../errors.js'
import type { DatasetSpec } from '../engine/contract.js'

/** What a run will hold in engine memory, in bytes. */
export interface MemoryNeed {
  readonly perLearner: number
  readonly shared: number
}

/** The programs that measure a model, and on how many replicas they are bound. */
export interface EvaluationNeed {
  readonly programs: readonly Program[]
  readonly replicas: number
}

/** A learner has its arenas, its velocity and the slot for its corrections; all share two central models, the evaluation and the samples. */
export function memoryNeed(train: Program, evaluation: EvaluationNeed, data: readonly DatasetSpec[]): MemoryNeed {
  const vector = train.parameters.bytes
  const arena = (name: 'activations' | 'statistics') => Math.max(...evaluation.programs.map(({ arenas }) => arenas[name]))
  const samples = data.reduce(
    (sum, spec) => sum + spec.samples.byteLength + (spec.labels?.byteLength ?? 0) + (spec.targets?.byteLength ?? 0),
    0
  )
  return {
    perLearner: arenaBytes(train) + 2 * vector,
    shared: 2 * vector + evaluation.replicas * (vector + arena('activations') + arena('statistics')) + samples
  }
}

/** Throws OUT_OF_MEMORY, with the figures, where the run would not fit. */
export function checkMemory({ perLearner, shared }: MemoryNeed, learners: number, free: number): void {
  const wanted = learners * perLearner + shared
  if (wanted <= free) return
  const most = Math.floor((free - shared) / perLearner)
  const mend = most >= 1 ? `use at most ${most}, or a smaller batch` : 'use a smaller batch, model or data set'
  const message = `learners: received ${learners}; each takes ${mebibytes(perLearner)} and all share ${mebibytes(shared)}, together ${mebibytes(wanted)} where ${mebibytes(free)} are free; ${mend}`
  throw new ArbalestError('OUT_OF_MEMORY', message, { data: { learners, perLearner, shared, wanted, free } })
}

function arenaBytes({ arenas }: Program): number {
  return Object.values(arenas).reduce((sum, bytes) => sum + bytes, 0)
}

function mebibytes(bytes: number): string {
  return `${(bytes / 2 ** 20).toFixed(1)} MiB`
}
