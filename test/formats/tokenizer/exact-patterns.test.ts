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
function partsOf(text: string, preTokenizer: unknown, vocabulary: readonly string[], normalizer: unknown = null): string[] {
  const names = ['<unk>', ...new Set(vocabulary)]
  const vocab = Object.fromEntries(names.map((name, i) => [name, i]))
  const model = { type: 'BPE', unk_token: '<unk>', vocab, merges: [], ignore_merges: true }
  const json = smallTokenizer({ added_tokens: [], normalizer, pre_tokenizer: preTokenizer, decoder: null, model })
  const tokens = Tokenizer.of({ json }, 'parts').encode(text)
  return tokens.map((token) => names[token]!)
}

describe('The parts that a pre-tokenizer makes', () => {
  for (const [preTokenizer, parts] of PARTS)
    it(`are those of Hugging Face's tokenizers: ${JSON.stringify(preTokenizer)}`, () => {
      expect(partsOf(TEXT, preTokenizer, parts)).to.deep.equal(parts)
    })

  const [point, some, words] = [{ String: '.' }, { Regex: String.raw`(\.|b)+` }, { Regex: String.raw`\w+` }]
  for (const [pattern, behavior, parts, invert = false] of [
    [point, 'Isolated', ['a', '.', ' b', '.', '.', '(c) d']],
    [point, 'Removed', ['a', ' b', '(c) d']],
    [point, 'Contiguous', ['a', '.', ' b', '..', '(c) d']],
    [point, 'MergedWithPrevious', ['a.', ' b.', '.', '(c) d']],
    [point, 'MergedWithNext', ['a', '. b', '.', '.(c) d']],
    [some, 'Isolated', ['a', '.', ' ', 'b..', '(c) d']],
    [some, 'Removed', ['a', ' ', '(c) d']],
    [some, 'MergedWithPrevious', ['a.', ' b..', '(c) d']],
    [some, 'MergedWithNext', ['a', '. ', 'b..(c) d']],
    [words, 'Isolated', ['a', '. ', 'b', '..(', 'c', ') ', 'd'], true],
    [words, 'Removed', ['a', 'b', 'c', 'd'], true]
  ] as const)
    it(`are those of Hugging Face's tokenizers, split at ${JSON.stringify(pattern)}: ${behavior}${invert ? ', inverted' : ''}`, () => {
      expect(partsOf('a. b..(c) d', { type: 'Split', pattern, behavior, invert }, parts)).to.deep.equal(parts)
    })

  it('have a length', async () => {
    const json = smallTokenizer({ pre_tokenizer: { type: 'FixedLength', length: 0 } })
    await refused('DATA_CORRUPT', () => Tokenizer.of({ json }, 'parts'), 'length')
  })
})

describe('A text that a normalizer has changed', () => {
  /** What Hugging Face's tokenizers 0.23 makes of it: `normalize_str`. */
  const changed: readonly (readonly [normalizer: Readonly<Record<string, unknown>>, text: string, result: string])[] = [
    [{ type: 'Lowercase' }, 'ΟΔΟΣ ΣΑΣ Σ', 'οδοσ σασ σ'],
    [
      { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: true },
      'ΟΔΟΣ Größe',
      'οδοσ große'
    ],
    [
      { type: 'BertNormalizer', clean_text: true, handle_chinese_chars: true, strip_accents: null, lowercase: false },
      'ΟΔΟΣ Größe',
      'ΟΔΟΣ Größe'
    ],
    [{ type: 'Strip', strip_left: true, strip_right: true }, ' \u0085\uFEFF a b\uFEFF \u3000', '\uFEFF a b\uFEFF'],
    [{ type: 'Strip', strip_left: false, strip_right: true }, ' a \n', ' a'],
    [{ type: 'Sequence', normalizers: [{ type: 'Lowercase' }, { type: 'Strip', strip_left: true, strip_right: false }] }, ' ΑΣ ', 'ασ ']
  ]
  const whole = { type: 'Split', pattern: { Regex: String.raw`[\s\S]+` }, behavior: 'Removed', invert: true }

  for (const [normalizer, text, result] of changed)
    it(`is that of Hugging Face's tokenizers: ${JSON.stringify(normalizer)}`, () => {
      expect(partsOf(text, whole, [result], normalizer)).to.deep.equal([result])
    })

  it('is stripped in time, however many blanks are in it', () => {
    const text = `a${' '.repeat(200_000)}b`
    expect(partsOf(`${text} `, whole, [text], { type: 'Strip', strip_left: true, strip_right: true })).to.deep.equal([text])
  })
})
