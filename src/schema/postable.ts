import { messageOf } from '../errors.js'

/** What is wrong with a value that structured cloning cannot copy to another thread, and what to do about it; undefined for one that it can. */
export function postingFault(value: unknown): string | undefined {
  try {
    structuredClone(value)
    return undefined
  } catch (error) {
    return `it cannot be posted to a thread (${messageOf(error)}); use plain data and shared memory`
  }
}
