import { readFile, rename, writeFile } from 'node:fs/promises'
import { median } from '../statistics.js'
import type { TtaCase, TtaRule, Tuning } from './cases.js'

/**
 * Seconds that an epoch takes: the machine's share of a time to accuracy, as epochs are the rule's. It is measured apart, all at once and in turns,
 * so that the long runs may be made wherever there is time for them.
 */
export interface PaceSpec {
  readonly rule: TtaRule
  readonly learners: number
  readonly batch: number
  readonly tuning: Tuning
}

export interface Pace extends Omit<PaceSpec, 'tuning'> {
  /** Of training alone, a value a round. */
  readonly secondsAnEpoch: readonly number[]
}

/** What was measured together. */
export interface Paces {
  readonly paces: readonly Pace[]
  /** Cores that other processes kept busy meanwhile, in the mean. */
  readonly otherWork: number
  readonly date: string
  readonly commit: string
  readonly machine: string
}

/** `batches`: one learner at each batch, from which the batch is chosen. `methods`: all that is compared, at that batch. */
export type PaceSet = 'batches' | 'methods'

/** What is not there has not been measured. */
export type PaceFile = { readonly [S in PaceSet]?: Paces }

/** What a child is asked to measure. */
export interface PaceRequest {
  readonly model: string
  readonly data: string
  readonly weightDecay: number
  readonly precision: TtaCase['precision']
  readonly specs: readonly PaceSpec[]
}

/** Those of a method, a round each; undefined where they have not been measured. */
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

/** Whole or not at all. */
export async function writePaces(file: string, paces: PaceFile): Promise<void> {
  await writeFile(`${file}.new`, `${JSON.stringify(paces, null, 2)}\n`)
  await rename(`${file}.new`, file)
}
