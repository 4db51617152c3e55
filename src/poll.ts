import { setTimeout as sleep } from 'node:timers/promises'

type Nothing = undefined | null | false

/** Calls `look` again and again, with a pause of `milliseconds` in between, until it finds something. Resolves with what it found. Rejects with the error that `look` throws. */
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
