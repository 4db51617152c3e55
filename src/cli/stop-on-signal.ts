import { isFirstProcess } from '../hosts/tenants.js'
import { EXIT, type ExitCode } from './exit.js'
import { isHangUpIgnored } from './hang-up.js'

/**
 * `arbalest launch` stops the processes that it has started by SIGUSR2, which launchers pass on. They end with 0, so that the launcher does not take the
 * first end for a failure, by which it would kill the others.
 */
const EXIT_BY_SIGNAL = {
  SIGHUP: EXIT.hungUp,
  SIGINT: EXIT.interrupted,
  SIGQUIT: EXIT.quit,
  SIGTERM: EXIT.terminated,
  SIGUSR2: EXIT.done
} as const
type Signal = keyof typeof EXIT_BY_SIGNAL

/** The signals that are not left to their default action. */
function handledSignals(): readonly Signal[] {
  const isOff: Partial<Record<Signal, boolean>> = { SIGHUP: isHangUpIgnored(), SIGUSR2: process.env['ARBALEST_LAUNCHED'] === undefined }
  return (Object.keys(EXIT_BY_SIGNAL) as Signal[]).filter((signal) => !isOff[signal])
}

/** Milliseconds within which a repeated signal is a copy: the terminal sends Ctrl-C to npm and to us, and npm forwards its own. */
const COPY_WINDOW = 1_000

interface StopOptions {
  /** Restores the terminal before a second signal ends the process. */
  readonly leave?: () => void
}

/**
 * The first SIGHUP, SIGINT, SIGQUIT or SIGTERM requests a clean stop; a second one ends the process at once with the signal's default action. A
 * SIGHUP does not count as the second one, because closing a terminal must not interrupt a run that is being saved. A SIGHUP that was ignored when
 * the process started stays ignored.
 */
export class StopOnSignal implements Disposable {
  readonly #stop: () => void
  readonly #leave: () => void
  readonly #signals = handledSignals()
  readonly #listener = (signal: NodeJS.Signals) => this.#receive(signal as Signal)
  #first: { readonly signal: Signal; readonly time: number } | undefined

  constructor(stop: () => void, { leave = () => {} }: StopOptions = {}) {
    this.#stop = stop
    this.#leave = leave
    for (const signal of this.#signals) process.on(signal, this.#listener)
  }

  /** The exit code if a signal came. */
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
      // The agent has said so already, once for all processes; without an agent the first process says it.
      if (signal !== 'SIGUSR2' && isFirstProcess())
        process.stderr.write(`${signal}: stopping at the next round; a second signal ends the process at once\n`)
      this.#stop()
      return
    }
    if (signal === 'SIGHUP' || (signal === this.#first.signal && time - this.#first.time < COPY_WINDOW)) return
    this[Symbol.dispose]()
    this.#leave()
    process.kill(process.pid, signal)
  }
}
