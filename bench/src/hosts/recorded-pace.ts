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

/** Windows are lines of a folder's file, so that a start that is ended loses none. */
export async function recordPace(folder: string, windows: Pace): Promise<void> {
  appendRecord(fileIn(folder), { ...windows, ...(await provenance()) })
}

/** All recorded windows of a case; undefined if one of the methods has none, or one of the rules none on links that are not shaped. */
export async function recordedPace(
  folder: string,
  wanted: Pick<Pace, 'model' | 'hosts' | 'mbit' | 'period'>,
  { rules, peers }: { readonly rules: readonly string[]; readonly peers: readonly string[] }
): Promise<Pace | undefined> {
  const fits = (pace: Pace) => Object.entries(wanted).every(([name, value]) => pace[name as keyof Pace] === value)
  const lines = (await readRecords<Pace>(fileIn(folder))).filter(fits)
  const joined = (of: 'seconds' | 'computing', methods: readonly string[]) =>
    Object.fromEntries(methods.map((method) => [method, lines.flatMap((line) => line[of][method] ?? [])]))
  const [seconds, computing] = [joined('seconds', [...rules, ...peers]), joined('computing', rules)]
  const isWhole = [...Object.values(seconds), ...Object.values(computing)].every(({ length }) => length > 0)
  return isWhole ? { ...lines.at(-1)!, seconds, computing } : undefined
}

const fileIn = (folder: string) => join(folder, 'hosts-pace.jsonl')
