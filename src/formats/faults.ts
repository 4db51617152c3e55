import { ArbalestError, shown } from '../errors.js'

/** A file that is not what it says it is; `where` is the part of it that is wrong. */
export function corruptFile(file: string, where: string, found: string, expected: string, cause?: unknown): ArbalestError {
  const message = `${file}: ${where}: expected ${expected}, found ${found}; replace the file with a whole copy`
  return new ArbalestError('DATA_CORRUPT', message, { cause, data: { file, where, found, expected } })
}

/** A file that the system does not let be read. */
export function unreadableFile(file: string, cause: unknown): ArbalestError {
  const message = `${file}: it cannot be read (${reason(cause)}); name a file that exists and may be read`
  return new ArbalestError('DATA_NOT_FOUND', message, { cause, data: { file } })
}

/** A file that the system does not let be written; whatever was there before is untouched. */
export function unwritableFile(file: string, cause: unknown): ArbalestError {
  const message = `${file}: it cannot be written (${reason(cause)}); name a file in a folder that exists, may be written and has space`
  return new ArbalestError('WRITE_FAILED', message, { cause, data: { file } })
}

function reason(cause: unknown): string {
  return cause instanceof Error ? ((cause as NodeJS.ErrnoException).code ?? cause.message) : shown(cause)
}
