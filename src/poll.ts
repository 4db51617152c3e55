import { setTimeout as sleep } from 'node:timers/promises'

type Nothing = undefined | null | false

/** Calls `look` every so many milliseconds until it finds something, and returns that. Rejects with what `look` throws. */
export async function poll<Found extends object | true>(
  look: () => Found | Nothing | Promise<Found | Nothing>,
  milliseconds = 10
): Promise<Found> {
  for (;;) {
    const found = await look()
    if (found) return found
    await sleep(milliseconds)
  }
}
