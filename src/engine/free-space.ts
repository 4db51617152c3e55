import { statfsSync } from 'node:fs'

/** Bytes of the file system of a folder that this user may still write; undefined where it does not tell, as some of the network do not. */
export function freeSpace(folder: string): number | undefined {
  try {
    const { blocks, bavail, bfree, bsize } = statfsSync(folder)
    if (blocks === 0) return undefined
    return (process.geteuid?.() === 0 ? bfree : bavail) * bsize
  } catch {
    return undefined
  }
}
