import { appendFileSync, existsSync, mkdirSync, readFileSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import type { Comparison } from '../pairs.js'
import type { Spread } from '../statistics.js'
import type { Mode } from './modes.js'
import type { Place } from './place.js'

/** What is measured of a case: ours, with the learners in lockstep, one of PyTorch's modes, or ours and PyTorch's best in turns. */
export type What = 'ours' | 'lockstep' | 'compared' | Mode

/** Images/s of the windows of one process. */
export interface Rate extends Spread {
  readonly n: number
  readonly median: number
}

export interface Compared extends Comparison {
  readonly peerMode: Mode
  /** Both do not fit into the memory together: each was started anew for each of its windows, and alone. */
  readonly apart?: true
}

/** What one measurement found, or why it could not be made. */
export type Finding = { readonly rate: Rate } | { readonly compared: Compared } | { readonly failure: string }

/** A line of the journal. */
export type Entry = Finding &
  Place & {
    readonly date: string
    readonly seed: number
    /** `resnet32 b16 k8 bf16`; without the learners where they make no difference. */
    readonly subject: string
    readonly what: What
  }

/** Of our learners, and of PyTorch. */
const SEED = 1
/** A measurement that has failed so often is not tried again. */
const TRIES = 2

const NAME = 'bench-gpu.jsonl'

/**
 * Every measurement as soon as it is made, a line each: a bench that is cut off has lost the one in progress alone, and is gone on with by the next
 * start. Without a folder it is kept as long as the process.
 */
export class Journal {
  readonly #place: Place
  readonly #file: string | undefined
  readonly #entries: Entry[]
  /** Of this process, which tries nothing twice. */
  readonly #failed = new Set<string>()

  constructor(place: Place, folder?: string) {
    this.#place = place
    this.#file = folder === undefined ? undefined : join(folder, NAME)
    if (folder !== undefined) mkdirSync(folder, { recursive: true })
    this.#entries = folder === undefined ? [] : readEntries(folder).filter((entry) => isOf(entry, place))
  }

  /** The last that was found; a failure where nothing was and it is not to be tried again. */
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
    if (this.#file !== undefined) append(this.#file, entry)
  }
}

function isOf(entry: Place, { commit, device, torch }: Place): boolean {
  return entry.commit === commit && entry.device === device && entry.torch === torch
}

/** All lines of a folder's journal; one that was cut off says nothing. */
export function readEntries(folder: string): Entry[] {
  const file = join(folder, NAME)
  if (!existsSync(file)) return []
  return readFileSync(file, 'utf8')
    .split('\n')
    .flatMap((line) => {
      try {
        return [JSON.parse(line) as Entry]
      } catch {
        return []
      }
    })
}

/** On a line of its own, in the place of one that was cut off. */
function append(file: string, entry: Entry): void {
  if (existsSync(file)) {
    const before = readFileSync(file)
    const whole = before.lastIndexOf('\n') + 1
    if (whole < before.length) truncateSync(file, whole)
  }
  appendFileSync(file, `${JSON.stringify(entry)}\n`)
}
