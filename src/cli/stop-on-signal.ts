import { EXIT, type ExitCode } from './exit-codes.js'

const EXIT_BY_SIGNAL = { SIGINT: EXIT.interrupted, SIGTERM: EXIT.terminated } as const
type Signal = keyof typeof EXIT_BY_SIGNAL

/**
 * The first SIGINT or SIGTERM asks for a clean stop; a second one ends the process at once, as if nobody had listened.
 */
export class StopOnSignal implements Disposable {
  readonly #stop: () => void
  readonly #listener = (signal: NodeJS.Signals) => this.#receive(signal as Signal)
  #exitCode: ExitCode | undefined

  constructor(stop: () => void) {
    this.#stop = stop
    for (const signal of Object.keys(EXIT_BY_SIGNAL)) process.on(signal, this.#listener)
  }

  /** What the process ends with, where a signal came. */
  get exitCode(): ExitCode | undefined {
    return this.#exitCode
  }

  [Symbol.dispose](): void {
    for (const signal of Object.keys(EXIT_BY_SIGNAL)) process.off(signal, this.#listener)
  }

  #receive(signal: Signal): void {
    if (this.#exitCode !== undefined) {
      this[Symbol.dispose]()
      process.kill(process.pid, signal)
      return
    }
    this.#exitCode = EXIT_BY_SIGNAL[signal]
    process.stderr.write(`${signal}: stopping at the next round; once more ends at once\n`)
    this.#stop()
  }
}
