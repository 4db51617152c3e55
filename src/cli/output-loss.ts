import { EXIT, type ExitCode } from './exit.js'

/**
 * Handles the loss of stdout, as in `arbalest runs | head` or on a full disk. By default it ends the process, as in other programs. A command with
 * other work than its output goes on instead; the process then ends with the exit code of the loss if it would have ended with 0.
 */
export class OutputLoss {
  readonly #stderr: NodeJS.WriteStream
  #onLoss: ((exitCode: ExitCode) => void) | undefined
  #exitCode: ExitCode | undefined

  constructor({ stdout, stderr }: Pick<NodeJS.Process, 'stdout' | 'stderr'>) {
    this.#stderr = stderr
    stdout.on('error', (error: NodeJS.ErrnoException) => this.#lose(error))
    // Nothing can be reported if stderr is closed: in `2>&1 | tee log` a Ctrl-C ends tee first.
    stderr.on('error', () => {})
    process.once('exit', (code) => {
      if (code === EXIT.done && this.#exitCode !== undefined) process.exitCode = this.#exitCode
    })
  }

  get isLost(): boolean {
    return this.#exitCode !== undefined
  }

  /** From now on a loss calls `onLoss` once and does not end the process. */
  continueAfterLoss(onLoss: (exitCode: ExitCode) => void): void {
    this.#onLoss = onLoss
  }

  #lose({ code, message }: NodeJS.ErrnoException): void {
    if (this.isLost) return
    this.#exitCode = code === 'EPIPE' ? EXIT.brokenPipe : EXIT.failed
    const continues = this.#onLoss !== undefined
    // The reader of a pipe closes it on purpose; a full disk may be unnoticed.
    if (code !== 'EPIPE')
      this.#stderr.write(
        `WRITE_FAILED: stdout: it cannot be written (${code ?? message})${continues ? '; the run continues without it' : ''}\n`
      )
    if (!this.#onLoss) process.exit(this.#exitCode)
    this.#onLoss(this.#exitCode)
  }
}
