import { readdir } from 'node:fs/promises'

/** The names in a folder of checkpoints, without the lock of the run that holds it. */
export async function entriesOf(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => name !== '.lock')
}
