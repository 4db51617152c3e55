import { readFile, rename, writeFile } from 'node:fs/promises'
import { median } from '../statistics.js'
import type { TtaCase, TtaRule, Tuning } from './cases.js'

/**
 * A method whose pace, the seconds of an epoch, is measured. The pace depends on the machine, the epochs to an accuracy on the rule: paces are measured
 * apart from the long runs, in turns, so that those runs may share the machine with other work.
 */
export interface PaceSpec {
  readonly rule: TtaRule
  readonly learners: number
  readonly batch: number
  readonly tuning: Tuning
}

export interface Pace extends Omit<PaceSpec, 'tuning'> {
  /** Seconds of training, without evaluation: a value for each turn. */
  readonly secondsAnEpoch: readonly number[]
}

/** Paces that were measured together. */
export interface Paces {
  readonly paces: readonly Pace[]
  /** The mean number of cores that other processes kept busy during the measurement. */
  readonly otherWork: number
  readonly date: string
  readonly commit: string
  readonly machine: string
}

/** `batches`: one learner at each batch, to choose the batch. `methods`: all compared methods at that batch. */
export type PaceSet = 'batches' | 'methods'

/** A set that is absent has not been measured. */
export type PaceFile = { readonly [S in PaceSet]?: Paces }

/** The request to the child process. */
export interface PaceRequest {
  readonly model: string
  readonly data: string
  readonly weightDecay: number
  readonly precision: TtaCase['precision']
  readonly specs: readonly PaceSpec[]
}

/** The seconds per epoch of a method, a value for each turn; undefined if they have not been measured. */
export function roundsOf(paces: Paces | undefined, method: Pick<PaceSpec, 'rule' | 'learners' | 'batch'>): readonly number[] | undefined {
  return paces?.paces.find(({ rule, learners, batch }) => rule === method.rule && learners === method.learners && batch === method.batch)
    ?.secondsAnEpoch
}

export function secondsAnEpoch(paces: Paces | undefined, method: Pick<PaceSpec, 'rule' | 'learners' | 'batch'>): number | undefined {
  const rounds = roundsOf(paces, method)
  return rounds && median(rounds)
}

export async function readPaces(file: string): Promise<PaceFile> {
  try {
    return JSON.parse(await readFile(file, 'utf8')) as PaceFile
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}

/** Writes the file completely or not at all. */
export async function writePaces(file: string, paces: PaceFile): Promise<void> {
  await writeFile(`${file}.new`, `${JSON.stringify(paces, null, 2)}\n`)
  await rename(`${file}.new`, file)
}
