import { setImmediate as turn } from 'node:timers/promises'

/** What nobody catches while `work` is done, and in the turn after it: it would end the process, or the test. */
export async function uncaughtIn(work: () => Promise<void>): Promise<unknown[]> {
  const errors: unknown[] = []
  const others = process.listeners('uncaughtException')
  process.removeAllListeners('uncaughtException')
  const listen = (error: unknown) => void errors.push(error)
  process.on('uncaughtException', listen)
  try {
    await work()
    await turn()
  } finally {
    process.off('uncaughtException', listen)
    for (const other of others) process.on('uncaughtException', other)
  }
  return errors
}
