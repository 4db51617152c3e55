import type { Choice } from './choice.js'

const NUMBERS = [0, -0, 1, -1, 2, 3, 15, 63, 64, 65, 2 ** 31 - 1, 2 ** 31, 2 ** 32, 2 ** 32 + 1, 2 ** 48, 2 ** 53, -(2 ** 53), 1e300]
const OTHERS = [NaN, Infinity, -Infinity, 0.5, 1e-300, undefined, null, true, false, '', 'plain', 'f64', 'u8', 'nChw8c', '__proto__', '\0']
const ARRAYS = [Float32Array, Float64Array, Int32Array, Uint8Array, BigInt64Array]

/** A value of a random type. */
export function junk(choice: Choice, depth = 2): unknown {
  const kind = choice.below(8)
  if (kind < 3) return choice.among(NUMBERS)
  if (kind === 3) return choice.below(1000)
  if (kind === 4 || depth === 0) return choice.among(OTHERS)
  if (kind === 5) return Array.from({ length: choice.below(4) }, () => junk(choice, depth - 1))
  if (kind === 6) return new (choice.among(ARRAYS))(choice.below(40))
  return Object.fromEntries(Array.from({ length: choice.below(3) }, (_, i) => [`name${i}`, junk(choice, depth - 1)]))
}

/** A copy of a value that is damaged in one to three places: replaced, changed slightly, deleted, doubled, copied from elsewhere in it or made circular. */
export function harmed<T>(value: T, choice: Choice): T {
  const copy = structuredClone(value)
  const places = placesIn(copy)
  for (let left = 1 + choice.below(3); left > 0 && places.length > 0; left--) harm(choice.among(places), places, choice)
  return copy
}

interface Place {
  readonly holder: Record<string, unknown>
  readonly key: string
}

function harm({ holder, key }: Place, places: readonly Place[], choice: Choice): void {
  const found = holder[key]
  switch (choice.below(7)) {
    case 0:
      if (Array.isArray(holder)) holder.splice(Number(key), 1)
      else delete holder[key]
      return
    case 1:
      if (Array.isArray(holder)) holder.push(structuredClone(found))
      else holder[key] = junk(choice)
      return
    case 2:
    case 3: {
      const alike = places.filter((other) => typeof other.holder[other.key] === typeof found)
      const other = choice.among(alike)
      holder[key] = typeof found === 'object' ? (other.holder[other.key] ?? null) : other.holder[other.key]
      return
    }
    case 4:
      holder[key] = typeof found === 'number' ? found + choice.among([-64, -8, -1, 1, 8, 64, 4096]) : junk(choice)
      return
    case 5:
      if (choice.happens(0.2)) holder[key] = holder
      else holder[key] = typeof found === 'number' ? found * choice.among([-1, 0.5, 2, 64, 2 ** 30]) : junk(choice)
      return
    default:
      holder[key] = junk(choice)
  }
}

function placesIn(value: unknown): Place[] {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return []
  const holder = value as Record<string, unknown>
  return Object.keys(holder).flatMap((key) => [{ holder, key }, ...placesIn(holder[key])])
}
