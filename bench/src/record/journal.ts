import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Place } from '../gpu/place.js'
import { appendJsonLine, readJsonLines } from '../json-lines.js'
import type { OwnRun, RunResult } from './run.js'

export type Contestant = 'arbalest' | 'airbench94'
export const CONTESTANTS: readonly Contestant[] = ['arbalest', 'airbench94']

/** Everything but the seed that a run of ours depends on. */
export type Settings = Omit<OwnRun, 'seed'>

export type Finding = RunResult | { readonly failure: string }

/** A line of the journal. */
export type Entry = Place & {
  readonly date: string
  readonly contestant: Contestant
  readonly seed: number
  /** Of ours; a peer has one way to run. */
  readonly settings?: Settings
} & Finding

/** A run that has failed this many times is not tried again. */
const TRIES = 2
const NAME = 'bench-record.jsonl'

/** The journal of the machine that wrote to the folder last; undefined if the folder has none. */
export function latestJournal(folder: string): Journal | undefined {
  const last = readJsonLines<Entry>(join(folder, NAME)).findLast(({ settings }) => settings !== undefined)
  return last && new Journal(last, last.settings!, folder)
}

/** Writes each run as a line as soon as it is made: a bench that was cut off loses the run in progress, and the next start continues. Without a folder it lives as long as the process. */
export class Journal {
  readonly #place: Place
  readonly #settings: Settings
  readonly #file: string | undefined
  readonly #entries: Entry[]

  constructor(place: Place, settings: Settings, folder?: string) {
    this.#place = place
    this.#settings = settings
    this.#file = folder === undefined ? undefined : join(folder, NAME)
    if (folder !== undefined) mkdirSync(folder, { recursive: true })
    this.#entries = this.#file === undefined ? [] : readJsonLines<Entry>(this.#file).filter((entry) => this.#isHere(entry))
  }

  /** The runs of a side that have not failed, by seed. */
  results(contestant: Contestant): readonly (Entry & RunResult)[] {
    return this.#of(contestant)
      .filter((entry): entry is Entry & RunResult => !('failure' in entry))
      .sort((a, b) => a.seed - b.seed)
  }

  /** Seeds that have failed and of which there is no run. */
  failed(contestant: Contestant): readonly Entry[] {
    const found = new Set(this.results(contestant).map(({ seed }) => seed))
    return this.#of(contestant).filter(({ seed }) => !found.has(seed))
  }

  /** Whether a run is still to be made. */
  isMissing(contestant: Contestant, seed: number): boolean {
    const own = this.#of(contestant).filter((entry) => entry.seed === seed)
    return own.length < TRIES && !own.some((entry) => !('failure' in entry))
  }

  note(contestant: Contestant, seed: number, finding: Finding): void {
    const settings = contestant === 'arbalest' ? { settings: this.#settings } : {}
    const entry: Entry = { ...this.#place, date: new Date().toISOString(), contestant, seed, ...settings, ...finding }
    this.#entries.push(entry)
    if (this.#file !== undefined) appendJsonLine(this.#file, entry)
  }

  #of(contestant: Contestant): readonly Entry[] {
    return this.#entries.filter((entry) => entry.contestant === contestant)
  }

  /** Figures of two machines, or of two commits, are not put together. */
  #isHere({ commit, device, torch, settings }: Entry): boolean {
    const own = this.#place
    return (
      commit === own.commit &&
      device === own.device &&
      torch === own.torch &&
      (settings === undefined || isDeepStrictEqual(settings, this.#settings))
    )
  }
}
