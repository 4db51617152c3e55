import type { Choice } from './choice.js'

const BYTES = [0, 1, 0x7f, 0x80, 0xff, 0x20, 0x22, 0x2c, 0x5b, 0x7b]
const WORDS = [0, 1, 2 ** 16 - 1, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1]

/** Ways in which files are damaged: bits flip, the end is lost, bytes are inserted, deleted, swapped or replaced by a number, or the file is empty. */
export function damaged(content: Uint8Array, choice: Choice): Buffer {
  let bytes: Buffer = Buffer.from(content)
  for (let left = 1 + choice.below(3); left > 0; left--) bytes = harm(bytes, choice)
  return bytes
}

function harm(bytes: Buffer, choice: Choice): Buffer {
  if (bytes.length === 0) return Buffer.from([choice.below(256)])
  const at = placeIn(bytes, choice)
  const length = 1 + choice.below(choice.happens(0.5) ? 4 : 64)
  switch (choice.below(8)) {
    case 0:
    case 1:
      bytes[at]! ^= 1 << choice.below(8)
      return bytes
    case 2:
      bytes[at] = choice.among(BYTES)
      return bytes
    case 3:
      return bytes.subarray(0, choice.happens(0.1) ? 0 : at)
    case 4:
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + length)])
    case 5:
      return Buffer.concat([bytes.subarray(0, at), Buffer.from(Array.from({ length }, () => choice.below(256))), bytes.subarray(at)])
    case 6: {
      const from = placeIn(bytes, choice)
      return Buffer.concat([bytes.subarray(0, at), bytes.subarray(from, from + length), bytes.subarray(at)])
    }
    default:
      return withWord(bytes, at, choice)
  }
}

/** A random place; half of the places lie in the first bytes, where headers are. */
function placeIn(bytes: Buffer, choice: Choice): number {
  return choice.below(choice.happens(0.5) ? Math.min(32, bytes.length) : bytes.length)
}

function withWord(bytes: Buffer, at: number, choice: Choice): Buffer {
  const start = Math.min(at - (at % 4), bytes.length - 4)
  if (start < 0) return bytes.fill(choice.among(BYTES))
  const word = choice.among(WORDS)
  if (choice.happens(0.5)) bytes.writeUInt32BE(word, start)
  else bytes.writeUInt32LE(word, start)
  return bytes
}
