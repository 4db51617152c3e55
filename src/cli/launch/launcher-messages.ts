/** A process that ended by itself or was killed, as a launcher tells it. */
export interface LostProcess {
  readonly rank?: number
  readonly host?: string
  /** `SIGKILL`, or the signal's number as the launcher gives it. */
  readonly signal?: string
  /** The error for which MPI has ended it. */
  readonly error?: string
}

/** A line of ours: an error as `CODE: message`. */
const CODED = /^([A-Z]+(?:_[A-Z]+)+|INTERNAL|ABORTED): /

/** Frames around messages of Open MPI and Hydra. */
const FRAME = /^(?:-{60,}|={60,})$/

/** The first lines of frames on stdout: of Hydra, and of Open MPI where it starts no process on a host. Others there are of the processes. */
const FRAMED_ON_STDOUT = /^(?:=   BAD TERMINATION|A daemon |(?:An ORTE|A PRTE) daemon |(?:PRTE|ORTE|mpirun|prterun|prte) )/

/** Beginnings of lines that a launcher writes outside of its frames. */
const NOTICES = [
  /^\[(?:mpiexec|proxy)\b/,
  /^(?:srun|slurmstepd): /,
  /^YOUR APPLICATION TERMINATED WITH/,
  /^This typically refers to a problem/,
  /^Please see the FAQ page for debugging/,
  // The end of some messages of Open MPI.
  /^\0$/
]

/** The same on stderr alone: on stdout it may be a process's own. */
const NOTICE_ON_STDERR = /^\[[\w.-]+:\d+\] /

/**
 * Open MPI has ended the process in which it found an error that it can tell no caller, such as one of a message to a process that is lost, which was sent as far as
 * its sender knew. Another start does not help where MPI cannot begin.
 */
const ENDED_BY_MPI =
  /\[([\w.-]+):\d+\] \*\*\* An error occurred in (?!MPI_Init).*? reported by process \[\d+,(\d+)\].*? \*\*\* (MPI_ERR_[^[]+?) \[.*?MPI_ERRORS_ARE_FATAL/

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
  #isFramed = false
  #isFramedOnStdout = false
  /** A line of stdout that may begin a frame. */
  #held: string | undefined

  /** Whether this line of stderr is a process's own, and new. */
  isShown(line: string): boolean {
    const code = CODED.exec(line)?.[1]
    if (code === undefined) return !this.#isNotice(line)
    this.#codes.add(code)
    const isNew = !this.#said.has(line)
    this.#said.add(line)
    return isNew
  }

  /**
   * The lines of stdout that are a process's own, now that this one has come. Hydra writes there of a process that was killed, Open MPI of a host that it does
   * not reach. What looks like their frames may be the user's, and is shown once the line behind it has come.
   */
  shownOnStdout(line: string): readonly string[] {
    if (this.#isFramedOnStdout) {
      this.#isFramedOnStdout = !FRAME.test(line)
      this.#notices.push(line)
      return []
    }
    if (this.#held !== undefined && FRAMED_ON_STDOUT.test(line)) {
      this.#isFramedOnStdout = true
      this.#held = undefined
      this.#notices.push(line)
      return []
    }
    const shown = this.endOfStdout()
    if (FRAME.test(line)) this.#held = line
    else if (NOTICES.some((form) => form.test(line))) this.#notices.push(line)
    else return [...shown, line]
    return shown
  }

  /** What was held back of stdout, of which no more comes. */
  endOfStdout(): readonly string[] {
    const held = this.#held
    this.#held = undefined
    return held === undefined ? [] : [held]
  }

  /** Whether this line of stderr is the launcher's own, which it keeps. */
  #isNotice(line: string): boolean {
    if (FRAME.test(line)) {
      this.#isFramed = !this.#isFramed
      return true
    }
    if (!this.#isFramed && ![NOTICE_ON_STDERR, ...NOTICES].some((form) => form.test(line))) return false
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
    const [, endedOn, ended, error] = ENDED_BY_MPI.exec(text) ?? []
    if (error !== undefined) return { rank: Number(ended), host: endedOn!, error }
    const [, daemonHost] = /lost communication with (?:a|its|the) remote daemon.*?remote daemon: *\S* on node (\S+)/i.exec(text) ?? []
    if (daemonHost !== undefined) return { host: daemonHost }
    return /lost communication with|daemon (?:has )?(?:died|failed)|terminated unexpectedly/i.test(text) ? {} : undefined
  }

  /** The first sentence of the launcher's own, for an end that none of the above explains. */
  get firstSentence(): string | undefined {
    const [sentence] = /[^.:]+[.:]/.exec(this.#text.replaceAll(/\[[\w.-]+:\d+\] (?:\*+ )?/g, '')) ?? []
    return sentence?.replace(/[.:]$/, '').trim()
  }

  get #text(): string {
    return this.#notices
      .map((line) => line.replaceAll(/^[\s=|]+|[\s=|]+$/g, ''))
      .filter((line) => line !== '')
      .join(' ')
  }
}
