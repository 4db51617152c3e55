import type { TokenizerFiles } from '../formats/tokenizer/tokenizer-files.js'
import { kind } from '../schema/values.js'

/** Where a tokenizer is, or what its files have. */
export const tokenizerPath = kind<string | TokenizerFiles>(
  (value) => (typeof value === 'string' && value !== '') || typeof (value as Partial<TokenizerFiles> | null)?.json === 'string',
  'the folder of a tokenizer, or a tokenizer.json'
)
