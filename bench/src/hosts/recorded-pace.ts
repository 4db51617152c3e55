import { join } from 'node:path'
import { provenance } from '../results.js'
import { appendRecord, readRecords } from '../tta/results-file.js'
import type { TtaOnHosts } from './tta.js'

/** Seconds of a step in windows that took turns, on links of a rate. */
export interface Pace {
  readonly model: TtaOnHosts['model']
  readonly hosts: number
  readonly mbit: number
  readonly period: number
  /** By method. */
  readonly seconds: Readonly<Record<string, readonly number[]>>
  /** Of our rules, on links that are not shaped. */
  readonly computing: Readonly<Record<string, readonly number[]>>
  readonly mpi: string
  readonly torch: string
  /** Processes that wanted to run, on average over the last minute. */
  readonly load: number
}

/** Some windows are a line of a folder's file. */
export async function recordPace(folder: string, pace: Pace): Promise<void> {
  appendRecord(fileIn(folder), { ...pace, ...(await provenance()) })
}

/** All recorded windows of a case, of the lines that have all of our rules; undefined if there are none. */
export async function recordedPace(
  folder: string,
  wanted: Pick<Pace, 'model' | 'hosts' | 'mbit' | 'period'>,
  rules: readonly string[]
): Promise<Pace | undefined> {
  const fits = (pace: Pace) =>
    Object.entries(wanted).every(([name, value]) => pace[name as keyof Pace] === value) && rules.every((rule) => rule in pace.computing)
  const lines = (await readRecords<Pace>(fileIn(folder))).filter(fits)
  if (lines.length === 0) return undefined
  const joined = (of: 'seconds' | 'computing') =>
    Object.fromEntries(Object.keys(lines[0]![of]).map((method) => [method, lines.flatMap((line) => line[of][method] ?? [])]))
  return { ...lines.at(-1)!, seconds: joined('seconds'), computing: joined('computing') }
}

const fileIn = (folder: string) => join(folder, 'hosts-pace.jsonl')
