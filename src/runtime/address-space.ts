import { readFileSync } from 'node:fs'
import { ArbalestError } from '../errors.js'

/** Bytes that a thread of Node's reserves of the address space, of which it uses little: V8's heap and code, its stack, an arena of the allocator. */
const THREAD = 800 * 2 ** 20

/** The files in which Linux describes the process. Tests give others. */
const PROC = '/proc/self'

/** The limit of this process's address space in bytes, as `ulimit -v` sets it; Infinity if there is none, or if it is not known. */
function addressSpaceLimit(proc = PROC): number {
  return Number(found(`${proc}/limits`, /^Max address space\s+(\d+)/m) ?? Infinity)
}

/**
 * Refuses one more thread, beside so many that are starting, if the address space is too small: V8 would end the process with a message of its own.
 * Throws OUT_OF_MEMORY.
 */
export function checkAddressSpace(starting: number, proc = PROC): void {
  const limit = addressSpaceLimit(proc)
  if (limit === Infinity) return
  const used = 1024 * Number(found(`${proc}/status`, /^VmSize:\s+(\d+)/m) ?? 0)
  if (used + (starting + 1) * THREAD <= limit) return
  const [most, now, more] = [limit, used, THREAD].map((bytes) => `${(bytes / 2 ** 30).toFixed(1)} GiB`)
  const message = `ulimit -v: received ${most} of address space, of which ${now} are in use; a thread of Node.js reserves up to ${more}: raise the limit or use fewer learners`
  throw new ArbalestError('OUT_OF_MEMORY', message, { data: { limit, used, needed: THREAD } })
}

function found(file: string, pattern: RegExp): string | undefined {
  try {
    return pattern.exec(readFileSync(file, 'utf8'))?.[1]
  } catch {
    return undefined
  }
}
