import { lstatSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** `1234.sock`: the process of that id serves there; `1234-5.sock`: a worker thread of it does. */
export const SOCKET = /^([1-9]\d*)(?:-\d+)?\.sock$/

/** Where this user's running jobs may be found, best first: the session's own folder, which a system without sessions has not. */
export function liveFolders(): readonly string[] {
  const session = process.env['XDG_RUNTIME_DIR']
  const shared = join(tmpdir(), `arbalest-${userId()}`)
  return session ? [join(session, 'arbalest'), shared] : [shared]
}

/** Whether a folder is this user's and nobody else's: others may make folders, and links to them, in a temporary directory. */
export function isOurs(folder: string): boolean {
  const found = lstatSync(folder, { throwIfNoEntry: false })
  return found !== undefined && found.isDirectory() && found.uid === userId() && (found.mode & 0o077) === 0
}

/** The first of the folders that is there or can be made, for this user alone; undefined where none is. */
export function makeLiveFolder(): string | undefined {
  return liveFolders().find((folder) => {
    try {
      mkdirSync(folder, { mode: 0o700 })
    } catch {
      // It is there already, or it cannot be made: the look below tells.
    }
    return isOurs(folder)
  })
}

function userId(): number {
  return process.getuid?.() ?? 0
}
