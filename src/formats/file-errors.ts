import { statSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import { freeSpace } from '../engine/free-space.js'
import { ArbalestError, isError, messageOf, printable, shown } from '../errors.js'
import { absolutePath } from '../node.js'
import { didYouMeanFile } from '../similar-files.js'

/** What a corrupt file should have had and what it has. */
export interface Corruption {
  /** The part of the file that is wrong: `header`, `tensor "fc.weight"`. */
  readonly where?: string
  readonly expected: string
  readonly found: string
  /** What to do about it; to replace the file if left out. */
  readonly fix?: string
  readonly cause?: unknown
}

/** DATA_CORRUPT: a file, or a folder of files, whose content is not what its format prescribes. */
export function corruptFile(file: string, { where, expected, found, fix, cause }: Corruption): ArbalestError {
  const part = where === undefined ? '' : `${where}: `
  const message = `${named(file)}: ${part}expected ${expected}, found ${found}; ${fix ?? 'replace the file with a complete copy'}`
  return new ArbalestError('DATA_CORRUPT', message, { cause, data: { file, ...(where !== undefined && { where }), found, expected } })
}

/** DATA_NOT_FOUND: the operating system does not let a file be read. */
export function unreadableFile(file: string, cause: unknown, fix = 'name a file that exists and that you may read'): ArbalestError {
  const similar = reason(cause) === 'ENOENT' ? didYouMeanFile(file, printable) : ''
  const way = isDeniedByNode(cause) ? 'start Node.js with --allow-fs-read for it' : fix
  return new ArbalestError('DATA_NOT_FOUND', `${named(file)}: it cannot be read (${reason(cause)}); ${way}${similar}`, {
    cause,
    data: { file }
  })
}

/** What is at a path; undefined for nothing, and for a path that cannot be. Throws DATA_NOT_FOUND where Node.js may not look, under --permission. */
export function foundAt(path: string): Stats | undefined {
  try {
    return statSync(path, { throwIfNoEntry: false })
  } catch (cause) {
    if (isDeniedByNode(cause)) throw unreadableFile(path, cause)
    // It throws for a path with a null byte, or below a file.
    return undefined
  }
}

/** What the system's codes for too little room mean. */
const FULL: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', 'the disk is full'],
  ['EDQUOT', "this user's share of the disk is used up"],
  ['EFBIG', 'files may not become so large here']
])

/** Whether a file could not be written because there was too little room for it. */
export function isOfFullDisk(error: unknown): boolean {
  return isError(error) && (FULL.has((error as NodeJS.ErrnoException).code ?? '') || isOfFullDisk(error.cause))
}

/** What was to be written. */
export interface Unwritten {
  /** Its bytes, where they are known. */
  readonly needed?: number | undefined
  /** What there is without it; that the previous content is unchanged if omitted. */
  readonly left?: string
}

/** WRITE_FAILED: the operating system does not let a file be written. The previous content is unchanged. */
export function unwritableFile(
  file: string,
  cause: unknown,
  { needed, left = 'a file that was there before is unchanged' }: Unwritten = {}
): ArbalestError {
  const full = isError(cause) && FULL.get((cause as NodeJS.ErrnoException).code ?? '')
  if (full) {
    const free = freeSpace(dirname(absolutePath(file)))
    const room = [
      ...(needed === undefined ? [] : [`it needs ${inBytes(needed)}`]),
      ...(free === undefined ? [] : [`${inBytes(free)} are free there`])
    ]
    const message = `${named(file)}: ${[`${full} (${reason(cause)})`, room.join(', and ')].filter((part) => part !== '').join(': ')}; make room, or name another place; ${left}`
    return new ArbalestError('WRITE_FAILED', message, {
      cause,
      data: { file, ...(needed !== undefined && { needed }), ...(free !== undefined && { free }) }
    })
  }
  const usual = 'name a file in a folder that exists, that you may write to, and that has space'
  const fix = isDeniedByNode(cause) ? 'start Node.js with --allow-fs-write for its folder' : usual
  return new ArbalestError('WRITE_FAILED', `${named(file)}: it cannot be written (${reason(cause)}); ${fix}`, { cause, data: { file } })
}

/** Whether a file is refused by Node.js itself, under --permission. */
export function isDeniedByNode(cause: unknown): boolean {
  return reason(cause) === 'ERR_ACCESS_DENIED'
}

/** The longest path that a message shows whole, in characters. */
const LONGEST_PATH = 1000

/** On one line: what was taken for a path may be the content of a file. */
function named(file: string): string {
  return printable(file.length > LONGEST_PATH ? `${file.slice(0, LONGEST_PATH)}...` : file)
}

/** The system's code where there is one, for its message repeats the path. */
function reason(cause: unknown): string {
  if (!isError(cause)) return shown(cause)
  return (cause as NodeJS.ErrnoException).code ?? messageOf(cause)
}

function inBytes(count: number): string {
  return count < 10_000 ? `${Math.ceil(count)} bytes` : `${(count / 1e6).toFixed(count < 1e8 ? 2 : 0)} MB`
}
