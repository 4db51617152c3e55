import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A shell command that runs beside those that follow it, until it is stopped. */
export class BackgroundCommand {
  readonly #child: ChildProcess
  readonly #outputFile: string

  /** Its output goes to a file of its own in `cwd`: commands that follow block this thread, which could read no pipe. */
  constructor(code: string, { cwd, env, name }: { cwd: string; env: NodeJS.ProcessEnv; name: string }) {
    this.#outputFile = join(cwd, `${name}.output`)
    const output = openSync(this.#outputFile, 'w')
    // In a process group of its own, so that what the shell has started ends with it.
    this.#child = spawn('bash', ['-c', code], { cwd, env, detached: true, stdio: ['ignore', output, output] })
    closeSync(output)
  }

  /** Ends it. Fails where it has ended by itself. */
  async stop(): Promise<void> {
    const child = this.#child
    try {
      process.kill(-child.pid!, 'SIGKILL')
    } catch {
      // It has ended, which its exit tells.
    }
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    if (child.signalCode === 'SIGKILL') return
    const printed = readFileSync(this.#outputFile, 'utf8')
    throw new Error(`a command in the background ended by itself, with ${child.exitCode ?? child.signalCode}\n${printed}`)
  }
}
