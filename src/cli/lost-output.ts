import { EXIT, type ExitCode } from './exit.js'

/**
 * What becomes of a command whose output is lost, as in `arbalest runs | head` or on a full disk: it ends there, as programs do. A command whose
 * work is more than its output goes on instead, and the process still ends with the status of the loss where it would have ended with 0.
 */
export class LostOutput {
  readonly #stderr: NodeJS.WriteStream
  #goOn: ((exitCode: ExitCode) => void) | undefined
  #exitCode: ExitCode | undefined

  constructor({ stdout, stderr }: Pick<NodeJS.Process, 'stdout' | 'stderr'>) {
    this.#stderr = stderr
    stdout.on('error', (error: NodeJS.ErrnoException) => this.#lose(error))
    // Whoever would be told of it reads no more: in `2>&1 | tee log` a Ctrl-C ends tee first.
    stderr.on('error', () => {})
    process.once('exit', (code) => {
      if (code === EXIT.done && this.#exitCode !== undefined) process.exitCode = this.#exitCode
    })
  }

  get lost(): boolean {
    return this.#exitCode !== undefined
  }

  /** From here on a loss ends nothing, but is told, once. */
  goOn(told: (exitCode: ExitCode) => void): void {
    this.#goOn = told
  }

  #lose({ code, message }: NodeJS.ErrnoException): void {
    if (this.lost) return
    this.#exitCode = code === 'EPIPE' ? EXIT.brokenPipe : EXIT.failed
    const goesOn = this.#goOn !== undefined
    // Who closed the pipe knows; who has filled the disk may not.
    if (code !== 'EPIPE')
      this.#stderr.write(`WRITE_FAILED: stdout: it cannot be written (${code ?? message})${goesOn ? '; the run goes on without it' : ''}\n`)
    if (!this.#goOn) process.exit(this.#exitCode)
    this.#goOn(this.#exitCode)
  }
}
