import { createInterface } from 'node:readline'

/** The work done in a window, in the bench's unit, and the window's true length. */
export interface Window {
  readonly work: number
  readonly seconds: number
}

/**
 * The child process's half of a Side: it writes a greeting, answers each `run SECONDS` on stdin with the window's work, and ends when stdin ends.
 */
export async function answerWindows(greeting: object, run: (seconds: number) => Promise<Window> | Window): Promise<void> {
  process.stdout.write(`${JSON.stringify({ ready: true, ...greeting })}\n`)
  for await (const line of createInterface({ input: process.stdin })) {
    const seconds = Number(/^run (.+)$/.exec(line)?.[1])
    process.stdout.write(`${JSON.stringify(await run(seconds))}\n`)
  }
}
