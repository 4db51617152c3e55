import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { provenance } from '../results.js'
import type { TtaCase } from './cases.js'
import { inChild } from './in-child.js'
import { readPaces, writePaces, type PaceFile, type PaceRequest, type Paces, type PaceSet, type PaceSpec } from './pace.js'
import { findingsOf, type Findings } from './plan.js'
import { plotOf } from './plot.js'
import { isDrawn, type ReportedCase } from './report.js'
import { appendRecord, readRecords } from './results-file.js'
import type { Outcome, RunRecord, RunStep } from './run.js'

/** A case and its files in a folder: the finished runs and the paces. */
export class CaseFolder implements ReportedCase {
  readonly one: TtaCase
  readonly #folder: string
  readonly #records: RunRecord[]
  #paces: PaceFile

  private constructor(one: TtaCase, folder: string, records: readonly RunRecord[], paces: PaceFile) {
    this.one = one
    this.#folder = folder
    this.#records = [...records]
    this.#paces = paces
  }

  /** Throws DATA_CORRUPT. */
  static async open(one: TtaCase, folder: string): Promise<CaseFolder> {
    return new CaseFolder(one, folder, await readRecords<RunRecord>(runsFile(one, folder)), await readPaces(pacesFile(one, folder)))
  }

  get records(): readonly RunRecord[] {
    return this.#records
  }

  get paces(): PaceFile {
    return this.#paces
  }

  get findings(): Findings {
    return findingsOf(this.one, this.#records, this.#paces)
  }

  /** Makes a run. Resolves with undefined if it does not end in `seconds`. */
  async run(step: RunStep, seconds: number): Promise<RunRecord | undefined> {
    const start = performance.now()
    const outcome = await inChild<Outcome>('run-child.js', step, seconds)
    if (!outcome) return undefined
    const spentSeconds = Number(((performance.now() - start) / 1000).toFixed(1))
    const record: RunRecord = { spec: step.run, outcome, spentSeconds, ...(await provenance()) }
    appendRecord(runsFile(this.one, this.#folder), record)
    this.#records.push(record)
    return record
  }

  /** Measures the paces of the set again. Resolves with undefined if that does not end in `seconds`. */
  async pace(set: PaceSet, specs: readonly PaceSpec[], seconds: number): Promise<Paces | undefined> {
    const { model, data, weightDecay, precision } = this.one
    const request: PaceRequest = { model, data, weightDecay, precision, specs }
    const measured = await inChild<Pick<Paces, 'paces' | 'otherWork'>>('pace-child.js', request, seconds)
    if (!measured) return undefined
    const paces: Paces = { ...measured, ...(await provenance()) }
    this.#paces = { ...this.#paces, [set]: paces }
    await mkdir(this.#folder, { recursive: true })
    await writePaces(pacesFile(this.one, this.#folder), this.#paces)
    return paces
  }

  /** Draws the plot, if there are enough results. */
  async draw(): Promise<void> {
    if (!isDrawn(this)) return
    await writeFile(join(this.#folder, `tta-${this.one.name}.svg`), await plotOf(this.one, this.findings, this.#paces.methods!))
  }
}

const runsFile = ({ name }: TtaCase, folder: string): string => join(folder, `tta-${name}.jsonl`)
const pacesFile = ({ name }: TtaCase, folder: string): string => join(folder, `tta-${name}-pace.json`)
