import { expect } from 'chai'
import { Tokenizer } from '../../../src/formats/tokenizer/tokenizer.js'
import { refused } from '../../support/codes.js'
import { smallTokenizer } from '../support/small-tokenizer.js'

const TEXT = 'Größe ２x²—...a\u0085b\uFEFFc 👩x_१'

/** What Hugging Face's tokenizers 0.23 makes of it: `pre_tokenize_str`. */
const PARTS: readonly (readonly [preTokenizer: Readonly<Record<string, unknown>>, parts: readonly string[]])[] = [
  [{ type: 'Whitespace' }, ['Größe', '２x', '²—...', 'a', 'b', '\uFEFF', 'c', '👩', 'x_१']],
  [{ type: 'WhitespaceSplit' }, ['Größe', '２x²—...a', 'b\uFEFFc', '👩x_१']],
  [{ type: 'BertPreTokenizer' }, ['Größe', '２x²', '—', '.', '.', '.', 'a', 'b\uFEFFc', '👩x', '_', '१']],
  [{ type: 'Digits', individual_digits: true }, ['Größe ', '２', 'x', '²', '—...a\u0085b\uFEFFc 👩x_', '१']],
  [{ type: 'Punctuation', behavior: 'Isolated' }, ['Größe ２x²', '—', '.', '.', '.', 'a\u0085b\uFEFFc 👩x', '_', '१']],
  [{ type: 'Punctuation', behavior: 'MergedWithPrevious' }, ['Größe ２x²—', '.', '.', '.', 'a\u0085b\uFEFFc 👩x_', '१']],
  [{ type: 'Punctuation', behavior: 'MergedWithNext' }, ['Größe ２x²', '—', '.', '.', '.a\u0085b\uFEFFc 👩x', '_१']],
  [{ type: 'Punctuation', behavior: 'Removed' }, ['Größe ２x²', 'a\u0085b\uFEFFc 👩x', '१']],
  [{ type: 'Punctuation', behavior: 'Contiguous' }, ['Größe ２x²', '—...', 'a\u0085b\uFEFFc 👩x', '_', '१']],
  [{ type: 'FixedLength', length: 3 }, ['Grö', 'ße ', '２x²', '—..', '.a\u0085', 'b\uFEFFc', ' 👩x', '_१']],
  [
    { type: 'Sequence', pretokenizers: [{ type: 'WhitespaceSplit' }, { type: 'Digits', individual_digits: false }] },
    ['Größe', '２', 'x', '²', '—...a', 'b\uFEFFc', '👩x_', '१']
  ]
]

/** The parts of a text are the tokens of a vocabulary that has each of them whole. */
function partsOf(text: string, preTokenizer: unknown, vocabulary: readonly string[]): string[] {
  const names = ['<unk>', ...new Set(vocabulary)]
  const vocab = Object.fromEntries(names.map((name, i) => [name, i]))
  const model = { type: 'BPE', unk_token: '<unk>', vocab, merges: [], ignore_merges: true }
  const json = smallTokenizer({ added_tokens: [], pre_tokenizer: preTokenizer, decoder: null, model })
  const tokens = Tokenizer.of({ json }, 'parts').encode(text)
  return tokens.map((token) => names[token]!)
}

describe('The parts that a pre-tokenizer makes', () => {
  for (const [preTokenizer, parts] of PARTS)
    it(`are those of Hugging Face's tokenizers: ${JSON.stringify(preTokenizer)}`, () => {
      expect(partsOf(TEXT, preTokenizer, parts)).to.deep.equal(parts)
    })

  it('have a length', async () => {
    const json = smallTokenizer({ pre_tokenizer: { type: 'FixedLength', length: 0 } })
    await refused('DATA_CORRUPT', () => Tokenizer.of({ json }, 'parts'), 'length')
  })
})
