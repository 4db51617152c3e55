import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Below those that systems give to whoever asks for any port: between this answer and its use, no other process is given the same one by chance. */
const FIRST = 20_000
const COUNT = 10_000
const TRIES = 50

/** A port of this machine at which nobody listens. */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < TRIES; tries++) {
    const port = FIRST + randomInt(COUNT)
    if (await isFree(port)) return port
  }
  throw new Error(`none of ${TRIES} ports from ${FIRST} to ${FIRST + COUNT - 1} is free`)
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, () => server.close(() => resolve(true)))
  })
}
