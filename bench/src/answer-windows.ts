import { createInterface } from 'node:readline'

/** Work done in a window, in whatever unit the bench counts, and how long the window really was. */
export interface Window {
  readonly work: number
  readonly seconds: number
}

/**
 * The child's half of a Side: greets, then answers each `run SECONDS` on stdin with what `run` got done; ends with its input.
 */
export async function answerWindows(greeting: object, run: (seconds: number) => Promise<Window> | Window): Promise<void> {
  process.stdout.write(`${JSON.stringify({ ready: true, ...greeting })}\n`)
  for await (const line of createInterface({ input: process.stdin })) {
    const seconds = Number(/^run (.+)$/.exec(line)?.[1])
    process.stdout.write(`${JSON.stringify(await run(seconds))}\n`)
  }
}
