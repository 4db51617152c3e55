/** A process that ended by itself or was killed, as a launcher tells it. */
export interface LostProcess {
  readonly rank?: number
  readonly host?: string
  /** `SIGKILL`, or the signal's number as the launcher gives it. */
  readonly signal?: string
}

/** A line of ours: an error as `CODE: message`. */
const CODED = /^([A-Z]+(?:_[A-Z]+)+|INTERNAL|ABORTED): /

/** Frames around messages of Open MPI and Hydra. */
const FRAME = /^(?:-{60,}|={60,})$/

/** Beginnings of lines that a launcher writes outside of its frames. */
const NOTICES = [
  /^\[[\w.-]+:\d+\] /,
  /^\[(?:mpiexec|proxy)\b/,
  /^(?:srun|slurmstepd): /,
  /^YOUR APPLICATION TERMINATED WITH/,
  /^This typically refers to a problem/,
  /^Please see the FAQ page for debugging/
]

const SIGNALS: Readonly<Record<string, string>> = {
  4: 'SIGILL',
  6: 'SIGABRT',
  7: 'SIGBUS',
  8: 'SIGFPE',
  9: 'SIGKILL',
  11: 'SIGSEGV',
  15: 'SIGTERM'
}

/**
 * Separates what processes write to stderr from what their launcher writes about them: a page of advice for each event. Processes that fail for the same
 * reason say it once.
 */
export class LauncherMessages {
  readonly #notices: string[] = []
  readonly #codes = new Set<string>()
  readonly #said = new Set<string>()
  readonly #framed = new Set<'stdout' | 'stderr'>()

  /** Whether this line of stderr is a process's own, and new. */
  isShown(line: string): boolean {
    if (this.isNotice(line, 'stderr')) return false
    const code = CODED.exec(line)?.[1]
    if (code === undefined) return true
    this.#codes.add(code)
    const isNew = !this.#said.has(line)
    this.#said.add(line)
    return isNew
  }

  /** Whether this line is the launcher's own, which it keeps. Hydra writes of a process that was killed to stdout. */
  isNotice(line: string, stream: 'stdout' | 'stderr'): boolean {
    if (FRAME.test(line)) {
      if (!this.#framed.delete(stream)) this.#framed.add(stream)
      return true
    }
    if (!this.#framed.has(stream) && !NOTICES.some((form) => form.test(line))) return false
    this.#notices.push(line)
    return true
  }

  /** The codes of the errors that processes reported. */
  get codes(): ReadonlySet<string> {
    return this.#codes
  }

  /** The process whose death made the launcher end the others. */
  get lost(): LostProcess | undefined {
    const text = this.#text
    const [, rank, host, signal] =
      /process rank (\d+) with PID \d+ on node (\S+) exited on signal (\d+)/.exec(text) ??
      /srun: error: ()(\S+): task \d+: Killed()/.exec(text) ??
      /PID \d+ RUNNING AT ()(\S+).*?EXIT CODE: (\d+)/.exec(text) ??
      []
    if (host !== undefined)
      return { ...(rank && { rank: Number(rank) }), host, ...(signal && { signal: SIGNALS[signal] ?? `signal ${signal}` }) }
    const [, daemonHost] = /lost communication with (?:a|its|the) remote daemon.*?remote daemon: *\S* on node (\S+)/i.exec(text) ?? []
    if (daemonHost !== undefined) return { host: daemonHost }
    return /lost communication with|daemon (?:has )?(?:died|failed)|terminated unexpectedly/i.test(text) ? {} : undefined
  }

  /** The first sentence of the launcher's own, for an end that none of the above explains. */
  get firstSentence(): string | undefined {
    const [sentence] = /[^.:]+[.:]/.exec(this.#text) ?? []
    return sentence?.replace(/[.:]$/, '').trim()
  }

  get #text(): string {
    return this.#notices
      .map((line) => line.replaceAll(/^[\s=|]+|[\s=|]+$/g, ''))
      .filter((line) => line !== '')
      .join(' ')
  }
}
