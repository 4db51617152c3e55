import { isDeepStrictEqual } from 'node:util'
import type { Dataset } from '../data/dataset.js'
import { invalidOption } from '../errors.js'
import type { LabelledEncoding, SampleEncoding } from '../formats/encoding.js'

/** Refuses samples that mean other things than those of the training: rows of other means, scales or values, and texts of other tokens. Throws INVALID_OPTION. */
export function checkEncodedAlike(model: string, own: SampleEncoding | undefined, { name, encoding }: Dataset): void {
  if (!own || !encoding) return
  const refused = (what: string) =>
    invalidOption('data', name, `${what} those that model ${model} was trained on; open it with openDataForModel`)
  if ('target' in own && 'target' in encoding && !isDeepStrictEqual(scalesOf(own), scalesOf(encoding)))
    throw refused('its rows are not encoded as')
  if (!isDeepStrictEqual(tokenizerOf(own), tokenizerOf(encoding))) throw refused('its tokens are not')
}

/** How data became samples and targets, without the names of classes, which are compared separately. */
function scalesOf(encoding: LabelledEncoding): readonly unknown[] {
  const { target } = encoding
  return [encoding.kind === 'table' ? encoding.columns : encoding.kind, target.kind === 'number' ? [target.mean, target.std] : target.kind]
}

/** The content of its tokenizer.json; undefined if it has none. */
function tokenizerOf(encoding: SampleEncoding): unknown {
  const { json } = ('tokenizer' in encoding && encoding.tokenizer) || {}
  return json
}
