import { addon, entryOf, translated, type FileLocking } from './addon.js'

/**
 * Locks a file that is open for writing, without waiting, for its open file description (F_OFD_SETLK): the system frees the lock when the file is
 * closed, however the process ends. `unsupported` if the file system has no such locks. Throws ENGINE_MISSING.
 */
export function lockFile(descriptor: number): FileLocking {
  try {
    return entryOf(addon(), 'lockFile')(descriptor)
  } catch (error) {
    throw translated(error)
  }
}
