import { parseHeader } from '../../../src/formats/safetensors-header.js'
import type { Choice } from '../support/choice.js'
import { harmed, junk } from '../support/junk.js'

const HEADER = {
  __metadata__: { format: 'pt' },
  'a.weight': { dtype: 'F32', shape: [2, 3], data_offsets: [0, 24] },
  'a.bias': { dtype: 'BF16', shape: [4], data_offsets: [24, 32] },
  none: { dtype: 'I64', shape: [0], data_offsets: [32, 32] }
}
const BYTES = 32

/** The header of a file of tensors: harmed as a value, then perhaps as text. */
export function safetensorsTarget(): (choice: Choice) => void {
  return (choice) => {
    const value = choice.happens(0.1) ? junk(choice, 3) : harmed(HEADER, choice)
    const bytes = Buffer.from(textOf(value))
    for (let left = choice.below(3); left > 0; left--) bytes[choice.below(bytes.length)] = choice.below(256)
    parseHeader(choice.happens(0.1) ? bytes.subarray(0, choice.below(bytes.length + 1)) : bytes, BYTES, 'fuzz')
  }
}

function textOf(value: unknown): string {
  try {
    return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? Number(inner) : inner)) ?? 'null'
  } catch {
    return '{"a":'.repeat(500) // it held itself
  }
}
