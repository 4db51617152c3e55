import { EXIT, type ExitCode } from './exit.js'
import { isHangUpIgnored } from './hang-up.js'

const EXIT_BY_SIGNAL = { SIGHUP: EXIT.hungUp, SIGINT: EXIT.interrupted, SIGQUIT: EXIT.quit, SIGTERM: EXIT.terminated } as const
type Signal = keyof typeof EXIT_BY_SIGNAL

/** Milliseconds in which a signal that comes again is the same one: the terminal sends Ctrl-C to npm and to us, and npm passes on its own. */
const ECHO = 1_000

interface StopOptions {
  /** Before a second signal ends the process: the terminal is left as it was found. */
  readonly leave?: () => void
}

/**
 * The first SIGHUP, SIGINT, SIGQUIT or SIGTERM asks for a clean stop; a second one ends the process at once, as if nothing had listened. A SIGHUP is no
 * second one: a terminal that closes does not ask a run that is being saved to hurry. A SIGHUP that was ignored when the process started stays ignored.
 */
export class StopOnSignal implements Disposable {
  readonly #stop: () => void
  readonly #leave: () => void
  readonly #signals = (Object.keys(EXIT_BY_SIGNAL) as Signal[]).filter((signal) => signal !== 'SIGHUP' || !isHangUpIgnored())
  readonly #listener = (signal: NodeJS.Signals) => this.#receive(signal as Signal)
  #first: { readonly signal: Signal; readonly time: number } | undefined

  constructor(stop: () => void, { leave = () => {} }: StopOptions = {}) {
    this.#stop = stop
    this.#leave = leave
    for (const signal of this.#signals) process.on(signal, this.#listener)
  }

  /** What the process ends with, where a signal came. */
  get exitCode(): ExitCode | undefined {
    return this.#first && EXIT_BY_SIGNAL[this.#first.signal]
  }

  [Symbol.dispose](): void {
    for (const signal of this.#signals) process.off(signal, this.#listener)
  }

  #receive(signal: Signal): void {
    const time = performance.now()
    if (!this.#first) {
      this.#first = { signal, time }
      process.stderr.write(`${signal}: stopping at the next round; once more ends at once\n`)
      this.#stop()
      return
    }
    if (signal === 'SIGHUP' || (signal === this.#first.signal && time - this.#first.time < ECHO)) return
    this[Symbol.dispose]()
    this.#leave()
    process.kill(process.pid, signal)
  }
}
