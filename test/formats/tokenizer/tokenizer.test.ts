import { expect } from 'chai'
import { Tokenizer } from '../../../src/formats/tokenizer/tokenizer.js'
import { readTokenizerFiles } from '../../../src/formats/tokenizer/tokenizer-files.js'
import { Folder } from '../../data/support/files.js'
import { refused } from '../../support/codes.js'
import { SMALL_MERGES, SMALL_SIZE, SMALL_VOCABULARY, smallTokenizer } from '../support/small-tokenizer.js'

describe('A tokenizer', () => {
  const tokenizer = () => Tokenizer.of({ json: smallTokenizer() }, 'small')

  it('merges what its merges say, and gives the text back', () => {
    const words = tokenizer().encode('the other and')
    const names = new Map(Object.entries(SMALL_VOCABULARY).map(([name, token]) => [token, name]))
    expect(words.map((token) => names.get(token))).to.deep.equal(['the', 'Ġ', 'o', 'the', 'r', 'Ġand'])
    for (const text of ['the other and', ' two  spaces\n\n', '世界 🙂 ü', "don't <|endoftext|> now"])
      expect(tokenizer().decode(tokenizer().encode(text))).to.equal(text)
    expect(tokenizer().encode('<|endoftext|>')).to.deep.equal([tokenizer().end])
  })

  it('gives a long text the tokens that it has as a whole', () => {
    // Longer than what is encoded at a time; each word is one token, unless it is cut.
    const tokens = tokenizer().encode(' the'.repeat(20_000))
    expect([tokens.length, [...new Set(tokens)]]).to.deep.equal([20_000, [SMALL_VOCABULARY['Ġthe']]])
  })

  it('does not cut a long text within a token that has a space', () => {
    const json = smallTokenizer({ added_tokens: [{ id: SMALL_SIZE, content: 'red fox' }] })
    const text = `${'1'.repeat(2 ** 16 - 2)}red fox${'1'.repeat(100)}`
    expect(
      Tokenizer.of({ json }, 'small')
        .encode(text)
        .filter((token) => token === SMALL_SIZE)
    ).to.have.lengthOf(1)
  })

  it('is read from vocab.json and merges.txt, too', async () => {
    await using folder = await Folder.make()
    await folder.write('vocab.json', Buffer.from(JSON.stringify(SMALL_VOCABULARY)))
    await folder.write('merges.txt', Buffer.from(`#version: 0.2\n${SMALL_MERGES.join('\n')}\n`))
    const read = Tokenizer.of(readTokenizerFiles(folder.path)!, folder.path)
    const text = 'the other and <|endoftext|>'
    expect([read.size, read.encode(text)]).to.deep.equal([SMALL_SIZE, tokenizer().encode(text)])
  })

  it('has the tokens that were added to vocab.json and merges.txt', async () => {
    await using folder = await Folder.make()
    await folder.write('vocab.json', Buffer.from(JSON.stringify(SMALL_VOCABULARY)))
    await folder.write('merges.txt', Buffer.from(SMALL_MERGES.join('\n')))
    await folder.write('added_tokens.json', Buffer.from(JSON.stringify({ '<user>': SMALL_SIZE, '<model>': SMALL_SIZE + 1 })))
    const read = () => Tokenizer.of(readTokenizerFiles(folder.path)!, folder.path)
    const the = SMALL_VOCABULARY['the']!
    expect([read().size, read().encode('the<user>the<model>')]).to.deep.equal([SMALL_SIZE + 2, [the, SMALL_SIZE, the, SMALL_SIZE + 1]])
    const config = (described: object) =>
      folder.write('tokenizer_config.json', Buffer.from(JSON.stringify({ added_tokens_decoder: described })))
    await config({ [SMALL_SIZE]: { content: '<user>', rstrip: true }, [SMALL_SIZE + 2]: { content: '<end>' } })
    expect([read().size, read().encode('the<user> the<end>')]).to.deep.equal([SMALL_SIZE + 3, [the, SMALL_SIZE, the, SMALL_SIZE + 2]])
    await config({ [SMALL_SIZE]: { content: 5 } })
    await refused('DATA_CORRUPT', read, 'added_tokens', '5')
  })

  it('puts a space before a text if the config of GPT-2 says so', () => {
    const { the, Ġthe } = SMALL_VOCABULARY
    const first = (config: object) =>
      Tokenizer.of({ json: smallTokenizer(), config: JSON.stringify(config) }, 'small').encode('the other')[0]
    for (const type of ['GPT2Tokenizer', 'GPT2TokenizerFast']) {
      expect(first({ tokenizer_class: type, add_prefix_space: true })).to.equal(Ġthe)
      expect(first({ tokenizer_class: type, add_prefix_space: false })).to.equal(the)
    }
    expect(first({ tokenizer_class: 'PreTrainedTokenizerFast', add_prefix_space: true })).to.equal(the)
  })

  const bad: Readonly<Record<string, string>> = {
    'no JSON': '{"model":',
    'no object': '[1]',
    'another model': smallTokenizer({ model: { type: 'Unigram', vocab: [['a', 0]] } }),
    'a merge of three': smallTokenizer({ model: { type: 'BPE', vocab: SMALL_VOCABULARY, merges: ['a b c'] } }),
    'tokens that begin otherwise within a word': smallTokenizer({
      model: { type: 'BPE', vocab: SMALL_VOCABULARY, merges: [], continuing_subword_prefix: '##' }
    }),
    'a token that is none within a word': smallTokenizer({ added_tokens: [{ id: SMALL_SIZE, content: 'one', single_word: true }] }),
    'a token whose number is far above all others': smallTokenizer({ model: { type: 'BPE', vocab: { a: 999_999 }, merges: [] } }),
    'a repetition in a repetition': smallTokenizer({
      pre_tokenizer: { type: 'Split', pattern: { Regex: '(a+)+$' }, behavior: 'Isolated' }
    }),
    'a pre-tokenizer that is not known': smallTokenizer({ pre_tokenizer: { type: 'Nothing' } })
  }
  for (const [what, json] of Object.entries(bad))
    it(`is refused for ${what}`, async () => {
      const error = await refused('DATA_CORRUPT', () => Tokenizer.of({ json }, 'some/tokenizer.json'), 'some/tokenizer.json')
      expect(error.message).to.not.include('\n')
    })

  it('of another kind is not said to be damaged', async () => {
    const others = [
      'another model',
      'tokens that begin otherwise within a word',
      'a token that is none within a word',
      'a pre-tokenizer that is not known'
    ]
    for (const other of others)
      await refused('DATA_CORRUPT', () => Tokenizer.of({ json: bad[other]! }, 'f'), 'use another tokenizer', 'BPE')
  })

  for (const [what, path] of Object.entries({
    'has a null character': 'a\0b',
    'is too long': 'x'.repeat(300),
    'is below a file': `${import.meta.filename}/x`
  }))
    it(`is not found at a path that ${what}`, () => refused('DATA_NOT_FOUND', () => readTokenizerFiles(path), 'it cannot be read'))

  it('takes the patterns of published tokenizers', () => {
    const pattern = String.raw`(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`
    const split = { type: 'Split', pattern: { Regex: pattern }, behavior: 'Isolated', invert: false }
    const level = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }
    const json = smallTokenizer({ pre_tokenizer: { type: 'Sequence', pretokenizers: [split, level] } })
    expect(Tokenizer.of({ json }, 'small').decode(Tokenizer.of({ json }, 'small').encode('the 12345 and\n'))).to.equal('the 12345 and\n')
  })
})
