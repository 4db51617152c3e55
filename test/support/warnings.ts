import { setImmediate as turn } from 'node:timers/promises'

/** The warnings of this process and its threads while `work` is done. */
export async function warningsIn(work: () => Promise<void>): Promise<string[]> {
  const warnings: string[] = []
  const listen = ({ message }: Error) => void warnings.push(message)
  process.on('warning', listen)
  try {
    await work()
    await turn()
  } finally {
    process.off('warning', listen)
  }
  return warnings
}
