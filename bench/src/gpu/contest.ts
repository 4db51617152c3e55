import { Attempts } from '../attempts.js'
import type { Case } from '../cases.js'
import { compare, type Contestant } from '../pairs.js'
import { median, spread } from '../statistics.js'
import type { Allowance } from './allowance.js'
import type { Compared, Finding, Journal, Rate, What } from './journal.js'
import { isOutOfMemory } from './memory.js'
import { isCompiled, isMode, isReplicated, ON_STREAMS, OWN_NAMES, OWN_WAYS, WARM, type How, type Mode } from './modes.js'

/** Windows of a process; their median is reported. */
const WINDOWS = 3

/** About the seconds that a process takes to warm up. */
function startOf(what: What): number {
  return what === 'compile' || what === 'compile-graph' ? WARM[what] : 15
}

/** A Side. */
export interface Runner extends Contestant {
  close(): void
}

/** Our learners, and PyTorch in a mode. */
export interface Starts {
  readonly ours: (one: Case, how: How) => Promise<Runner>
  readonly pytorch: (one: Case, mode: Mode) => Promise<Runner>
}

export interface ContestOptions {
  readonly starts: Starts
  readonly journal: Journal
  readonly allowance: Allowance
  readonly modes: readonly Mode[]
  readonly pairs: number
  readonly seconds: number
  /** Gets a line for each measurement: the whole comparison may take minutes, and may be interrupted. */
  readonly log: (line: string) => void
}

/** The name of a measurement's subject. Most of PyTorch's modes are the same for any number of learners, and are measured once. */
export function subjectOf(one: Case, what: What): string {
  const alike = isMode(what) && !isReplicated(what)
  return alike ? `${one.model} b${one.batch} ${one.precision}` : one.name
}

/**
 * Compares one case with PyTorch: first without compilation, then, in a second pass, with it. Measurements that the journal has are not repeated.
 * Close it in the end.
 */
export class Contest {
  readonly #one: Case
  readonly #options: ContestOptions
  #ours: Runner | undefined
  /** The fastest mode of PyTorch that this contest has started. */
  #peer: { readonly mode: Mode; readonly side: Runner } | undefined

  constructor(one: Case, options: ContestOptions) {
    this.#one = one
    this.#options = options
  }

  /** Measures our learners on streams, beside nothing. Throws OutOfTime. */
  async oursAlone(): Promise<void> {
    await this.#rate('ours', async () => this.#windows(await this.#startedOurs()))
  }

  /** Measures in the order of importance. Throws OutOfTime. */
  async withoutCompiling(): Promise<void> {
    await this.oursAlone()
    for (const mode of this.#modes(false)) {
      await this.#rateOf(mode)
      const recordable = mode !== 'stacked' || 'rate' in (this.#known(mode) ?? {})
      if (!recordable) await this.#rateOf('stacked-eager')
    }
    await this.#compare()
    if (this.#one.learners > 1) {
      const { starts } = this.#options
      for (const way of OWN_NAMES.filter((each) => this.#one.learners >= 2 * OWN_WAYS[each].banks))
        await this.#rate(way, async () => {
          this.close()
          const side = await starts.ours(this.#one, OWN_WAYS[way])
          try {
            return await this.#windows(side)
          } finally {
            side.close()
          }
        })
    }
  }

  /** Resolves with true if our side was compared again. Throws OutOfTime. */
  async compiled(): Promise<boolean> {
    for (const mode of this.#modes(true)) await this.#rateOf(mode)
    return this.#compare()
  }

  close(): void {
    this.#ours?.close()
    this.#peer?.side.close()
    this.#ours = this.#peer = undefined
  }

  #modes(compiled: boolean): readonly Mode[] {
    const { modes } = this.#options
    return modes.filter((mode) => isCompiled(mode) === compiled && (!isReplicated(mode) || this.#one.learners > 1))
  }

  #known(what: What): Finding | undefined {
    return this.#options.journal.known(subjectOf(this.#one, what), what)
  }

  async #startedOurs(): Promise<Runner> {
    return (this.#ours ??= await this.#options.starts.ours(this.#one, ON_STREAMS))
  }

  async #windows(side: Runner): Promise<Rate> {
    const rates: number[] = []
    while (rates.length < WINDOWS) rates.push(await side.run(this.#options.seconds))
    return { n: rates.length, median: median(rates), ...spread(rates) }
  }

  /** Keeps the process of the fastest mode so far: our side is compared with it, and it need not compile again. */
  async #rateOf(mode: Mode): Promise<void> {
    const before = bestOf(this.#one, this.#options)?.median ?? 0
    await this.#rate(mode, () =>
      this.#withFreeMemory(async () => {
        const side = await this.#options.starts.pytorch(this.#one, mode)
        try {
          const rate = await this.#windows(side)
          if (rate.median > before) {
            this.#peer?.side.close()
            this.#peer = { mode, side }
          }
          return rate
        } finally {
          if (this.#peer?.side !== side) side.close()
        }
      })
    )
  }

  /** If the GPU has too little memory, ends the other processes of this contest and tries again. */
  async #withFreeMemory<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!isOutOfMemory(messageOf(error)) || (!this.#ours && !this.#peer)) throw error
      this.close()
      return work()
    }
  }

  async #rate(what: What, measure: () => Promise<Rate>): Promise<void> {
    if (this.#known(what)) return
    const { seconds } = this.#options
    await this.#note(what, startOf(what) + WINDOWS * (seconds + 1), async () => ({ rate: await measure() }))
  }

  /** Compares with the fastest mode, unless that is done. */
  async #compare(): Promise<boolean> {
    const best = bestOf(this.#one, this.#options)
    if (!best || !('rate' in (this.#known('ours') ?? {}))) return false
    const known = this.#known('compared')
    const { pairs, seconds } = this.#options
    if (known && (!('compared' in known) || (known.compared.peerMode === best.mode && known.compared.n >= pairs))) return false
    const start = startOf('ours') + (this.#peer?.mode === best.mode ? 0 : startOf(best.mode))
    await this.#note('compared', start + 2 * pairs * (seconds + 1), async () => {
      try {
        return { compared: await this.#together(best.mode) }
      } catch (error) {
        if (!isOutOfMemory(messageOf(error))) throw error
        // A comparison with slower modes that need less memory would favour our side.
        this.close()
        return { compared: await this.#apart(best.mode, error) }
      }
    })
    return true
  }

  async #together(mode: Mode): Promise<Compared> {
    const { starts, pairs, seconds } = this.#options
    // Another mode would take memory that these two need.
    if (this.#peer?.mode !== mode) {
      this.#peer?.side.close()
      this.#peer = undefined
    }
    const ours = await this.#startedOurs()
    this.#peer ??= { mode, side: await starts.pytorch(this.#one, mode) }
    return { peerMode: mode, ...(await compare(ours, this.#peer.side, { pairs, seconds })) }
  }

  /** Starts each side anew for each window. Throws `cause`, why the sides do not run together, if there is no time for that. */
  async #apart(mode: Mode, cause: unknown): Promise<Compared> {
    const { starts, allowance, pairs, seconds } = this.#options
    try {
      allowance.begin(pairs * (startOf('ours') + startOf(mode) + 2 * (seconds + 1)))
    } catch {
      throw cause
    }
    const ours = alone(() => starts.ours(this.#one, ON_STREAMS))
    const peer = alone(() => starts.pytorch(this.#one, mode))
    return { peerMode: mode, apart: true, ...(await compare(ours, peer, { pairs, seconds })) }
  }

  /** Records and logs the finding or the failure. */
  async #note(what: What, seconds: number, measure: () => Promise<Finding>): Promise<void> {
    this.#options.allowance.begin(seconds)
    const attempts = new Attempts()
    const finding = (await attempts.of(what, measure)) ?? { failure: attempts.failures[what]! }
    // A process that has failed is of no use to the next measurement.
    if ('failure' in finding && (what === 'ours' || what === 'compared')) this.close()
    this.#options.journal.note(subjectOf(this.#one, what), what, finding)
    this.#options.log(`${this.#one.name}: ${what}: ${inWords(finding)}`)
  }
}

/** A side that holds memory of the GPU during its windows only. */
function alone(start: () => Promise<Runner>): Contestant {
  return {
    run: async (seconds) => {
      const side = await start()
      try {
        return await side.run(seconds)
      } finally {
        side.close()
      }
    }
  }
}

/** The fastest of PyTorch's wanted modes that have been measured. */
export function bestOf(
  one: Case,
  { journal, modes }: Pick<ContestOptions, 'journal' | 'modes'>
): (Rate & { readonly mode: Mode }) | undefined {
  const tried: readonly Mode[] = modes.includes('stacked') ? [...modes, 'stacked-eager'] : modes
  return tried
    .filter((mode) => !isReplicated(mode) || one.learners > 1)
    .flatMap((mode) => {
      const known = journal.known(subjectOf(one, mode), mode)
      return known && 'rate' in known ? [{ mode, ...known.rate }] : []
    })
    .toSorted((a, b) => b.median - a.median)[0]
}

function inWords(finding: Finding): string {
  if ('failure' in finding) return finding.failure
  if ('rate' in finding) return `${finding.rate.median.toFixed(0)} a second`
  const { ratio, peerMode, apart } = finding.compared
  return `${ratio.toFixed(2)} times PyTorch's ${peerMode}${apart ? ', each alone on the GPU' : ''}`
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
