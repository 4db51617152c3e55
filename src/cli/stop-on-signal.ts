import { EXIT, type ExitCode } from './exit-codes.js'

const EXIT_BY_SIGNAL = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated } as const
type Signal = keyof typeof EXIT_BY_SIGNAL

/** Milliseconds in which a signal that comes again is the same one: the terminal sends Ctrl-C to npm and to us, and npm passes on its own. */
const ECHO = 1_000

interface StopOptions {
  /** Before a second signal ends the process: the terminal is left as it was found. */
  readonly leave?: () => void
}

/**
 * The first SIGINT or SIGTERM asks for a clean stop; a second one ends the process at once, as if nobody had listened.
 */
export class StopOnSignal implements Disposable {
  readonly #stop: () => void
  readonly #leave: () => void
  readonly #listener = (signal: NodeJS.Signals) => this.#receive(signal as Signal)
  #first: { readonly signal: Signal; readonly time: number } | undefined

  constructor(stop: () => void, { leave = () => {} }: StopOptions = {}) {
    this.#stop = stop
    this.#leave = leave
    for (const signal of Object.keys(EXIT_BY_SIGNAL)) process.on(signal, this.#listener)
  }

  /** What the process ends with, where a signal came. */
  get exitCode(): ExitCode | undefined {
    return this.#first && EXIT_BY_SIGNAL[this.#first.signal]
  }

  [Symbol.dispose](): void {
    for (const signal of Object.keys(EXIT_BY_SIGNAL)) process.off(signal, this.#listener)
  }

  #receive(signal: Signal): void {
    const time = performance.now()
    if (!this.#first) {
      this.#first = { signal, time }
      process.stderr.write(`${signal}: stopping at the next round; once more ends at once\n`)
      this.#stop()
      return
    }
    if (signal === this.#first.signal && time - this.#first.time < ECHO) return
    this[Symbol.dispose]()
    this.#leave()
    process.kill(process.pid, signal)
  }
}
