import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { appendJsonLine, readJsonLines } from '../json-lines.js'
import type { Comparison } from '../pairs.js'
import type { Spread } from '../statistics.js'
import type { Mode, OwnWay } from './modes.js'
import type { Place } from './place.js'

/** A measurement of a case: our learners on streams, in another way, one of PyTorch's modes, or our learners and PyTorch's fastest mode in turns. */
export type What = 'ours' | OwnWay | 'compared' | Mode

/** Images per second in the windows of one process. */
export interface Rate extends Spread {
  readonly n: number
  readonly median: number
}

export interface Compared extends Comparison {
  readonly peerMode: Mode
  /** The memory does not hold both sides: each was started anew, and alone, for each of its windows. */
  readonly apart?: true
}

/** The result of a measurement, or the reason of its failure. */
export type Finding = { readonly rate: Rate } | { readonly compared: Compared } | { readonly failure: string }

/** A line of the journal. */
export type Entry = Finding &
  Place & {
    readonly date: string
    readonly seed: number
    /** `resnet32 b16 k8 bf16`; without the learners if they make no difference. */
    readonly subject: string
    readonly what: What
  }

/** The seed of our learners and of PyTorch. */
const SEED = 1
/** A measurement that has failed this many times is not tried again. */
const TRIES = 2

const NAME = 'bench-gpu.jsonl'

/**
 * Writes each measurement as a line as soon as it is made: an interrupted bench loses only the measurement in progress, and the next start continues.
 * Without a folder the journal lives as long as the process.
 */
export class Journal {
  readonly #place: Place
  readonly #file: string | undefined
  readonly #entries: Entry[]
  /** The failures of this process, which tries no measurement twice. */
  readonly #failed = new Set<string>()

  constructor(place: Place, folder?: string) {
    this.#place = place
    this.#file = folder === undefined ? undefined : join(folder, NAME)
    if (folder !== undefined) mkdirSync(folder, { recursive: true })
    this.#entries = folder === undefined ? [] : readEntries(folder).filter((entry) => isOf(entry, place))
  }

  /** The latest result, or the failure of a measurement that is not to be tried again. */
  known(subject: string, what: What): Finding | undefined {
    const own = this.#entries.filter((entry) => entry.subject === subject && entry.what === what)
    const found = own.findLast((entry) => !('failure' in entry))
    if (found) return found
    return own.length >= TRIES || this.#failed.has(`${subject}: ${what}`) ? own.at(-1) : undefined
  }

  note(subject: string, what: What, finding: Finding): void {
    const entry = { ...this.#place, date: new Date().toISOString(), seed: SEED, subject, what, ...finding }
    this.#entries.push(entry)
    if ('failure' in finding) this.#failed.add(`${subject}: ${what}`)
    if (this.#file !== undefined) appendJsonLine(this.#file, entry)
  }
}

function isOf(entry: Place, { commit, device, torch }: Place): boolean {
  return entry.commit === commit && entry.device === device && entry.torch === torch
}

/** All lines of a folder's journal, without an incomplete last line. */
export function readEntries(folder: string): Entry[] {
  return readJsonLines<Entry>(join(folder, NAME))
}
