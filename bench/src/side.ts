import { spawn, type ChildProcess } from 'node:child_process'
import { createInterface, type Interface } from 'node:readline'
import { ArbalestError } from './errors.js'

/** How to start one process of a side. */
export interface Command {
  readonly program: string
  readonly args: readonly string[]
  readonly env?: Readonly<Record<string, string>>
  readonly cwd?: string
}

/** The first message of a process, when it is warm. */
export type Greeting = Readonly<Record<string, unknown>>

/** Milliseconds that a process may take to warm up. */
const START_DEADLINE = 120_000
const alive = new Set<ChildProcess>()

/** Ends every process that was started here, including stopped ones. */
export function stopAllSides(): void {
  for (const child of alive) child.kill('SIGKILL')
}

/** A process that waits for `run SECONDS` on its stdin and answers with the work that it has done. */
class Process {
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>
  readonly #name: string
  /** Resolves when the process has ended and its output is complete. */
  readonly #closed: Promise<void>
  #stderr = ''

  constructor(command: Command) {
    this.#name = [command.program, ...command.args].join(' ')
    this.#child = spawn(command.program, command.args, {
      stdio: ['pipe', 'pipe', 'pipe'],
      ...(command.cwd === undefined ? {} : { cwd: command.cwd }),
      env: { ...process.env, ...command.env }
    })
    alive.add(this.#child)
    this.#child.once('exit', () => alive.delete(this.#child))
    this.#closed = new Promise((resolve) => this.#child.once('close', () => resolve()))
    this.#child.on('error', (error) => (this.#stderr += error.message))
    this.#child.stdin?.on('error', () => undefined)
    this.#child.stderr?.on('data', (text: Buffer) => (this.#stderr = (this.#stderr + text.toString()).slice(-4000)))
    const reader: Interface = createInterface({ input: this.#child.stdout! })
    this.#lines = reader[Symbol.asyncIterator]()
  }

  say(line: string): void {
    this.#child.stdin?.write(`${line}\n`)
  }

  /** The next line as JSON. Throws, with the last lines of stderr, if the process ends or is silent until the deadline. */
  async answer(deadline: number): Promise<Record<string, unknown>> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(this.#failure(`is silent for ${deadline / 1000} s`, 'DEADLINE_EXCEEDED')), deadline)
    })
    try {
      const { value, done } = await Promise.race([this.#lines.next(), late])
      if (done === true) {
        await this.#closed
        throw this.#failure('ended', 'ACTOR_GONE')
      }
      return JSON.parse(value) as Record<string, unknown>
    } finally {
      clearTimeout(timer)
    }
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name)
  }

  #failure(what: string, code: 'ACTOR_GONE' | 'DEADLINE_EXCEEDED'): ArbalestError {
    const words = this.#stderr.trim().split('\n').slice(-3).join(' | ')
    return new ArbalestError(code, `${this.#name} ${what}; run it by hand to see why${words === '' ? '' : `: ${words}`}`)
  }
}

/**
 * One side of a comparison: one process, or several that work at the same time and whose rates are added. Between two windows it is stopped (SIGSTOP), so
 * that it takes no time from the other side, for instance by a spinning thread pool.
 */
export class Side {
  readonly #processes: readonly Process[]
  readonly greeting: Greeting

  private constructor(processes: readonly Process[], greeting: Greeting) {
    this.#processes = processes
    this.greeting = greeting
  }

  /** Resolves when the side is warm and stopped. */
  static async start(commands: readonly Command[], deadline = START_DEADLINE): Promise<Side> {
    const processes = commands.map((command) => new Process(command))
    try {
      const greetings = await Promise.all(processes.map((one) => one.answer(deadline)))
      for (const one of processes) one.signal('SIGSTOP')
      return new Side(processes, greetings[0] ?? {})
    } catch (error) {
      for (const one of processes) one.signal('SIGKILL')
      throw error
    }
  }

  /** The work per second in a window, after a short window that warms the caches. */
  async run(seconds: number): Promise<number> {
    for (const one of this.#processes) one.signal('SIGCONT')
    await this.#window(Math.min(0.3, seconds))
    const rate = await this.#window(seconds)
    for (const one of this.#processes) one.signal('SIGSTOP')
    return rate
  }

  /** What its only process answers to a line. Throws, with the last lines of stderr, if it ends or is silent for `deadline` milliseconds. */
  async ask(line: string, deadline: number): Promise<Record<string, unknown>> {
    const [only] = this.#processes
    only!.signal('SIGCONT')
    only!.say(line)
    const answer = await only!.answer(deadline)
    only!.signal('SIGSTOP')
    return answer
  }

  /** Kills the processes, which have nothing to save. */
  close(): void {
    for (const one of this.#processes) one.signal('SIGKILL')
  }

  async #window(seconds: number): Promise<number> {
    for (const one of this.#processes) one.say(`run ${seconds}`)
    const answers = await Promise.all(this.#processes.map((one) => one.answer(seconds * 10_000 + START_DEADLINE)))
    return answers.reduce((sum, answer) => sum + Number(answer['work']) / Number(answer['seconds']), 0)
  }
}
