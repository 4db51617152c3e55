import { encodeRows, type TableRow } from '../data/tables/encode.js'
import { encodeTexts } from '../data/texts/encode-texts.js'
import { invalidOption } from '../errors.js'
import type { SampleEncoding } from '../formats/encoding.js'

type Samples = Float32Array | Uint8Array | Int32Array

/** Rows or texts as samples, by the encoding of the training; samples as they are. Throws INVALID_OPTION for what the model does not take. */
export function encoded(encoding: SampleEncoding | undefined, given: Samples | readonly TableRow[] | readonly string[]): Samples {
  if (!Array.isArray(given)) {
    if (encoding && 'target' in encoding && !ArrayBuffer.isView(given))
      throw invalidOption('samples', given, `give a list of ${encoding.kind === 'table' ? 'rows' : 'texts'}, also for a single one`)
    return given as Samples
  }
  if (encoding?.kind === 'table') return encodeRows(encoding, given as readonly TableRow[])
  if (encoding?.kind === 'bytes' || encoding?.kind === 'tokens') return encodeTexts(encoding, given as readonly string[])
  const [first] = given as readonly unknown[]
  if (encoding?.kind === 'language')
    throw invalidOption('samples[0]', first, 'give the ids of tokens as an Int32Array; generate takes a text')
  throw invalidOption(
    'samples[0]',
    first,
    'the model was trained on neither a table nor texts: give samples as a Float32Array, Uint8Array or Int32Array'
  )
}
