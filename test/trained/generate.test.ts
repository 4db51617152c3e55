import { expect } from 'chai'
import { Tokenizer } from '../../src/formats/tokenizer/tokenizer.js'
import { generate, tokensBy, type GenerateOptions } from '../../src/trained/generate.js'
import { refused } from '../support/codes.js'
import { smallTokenizer } from '../formats/support/small-tokenizer.js'

/** What is generated after the prompt if the model gives these tokens one after another. */
function written(json: string, prompt: string, tokens: readonly number[]): string {
  const tokenizer = Tokenizer.of({ json }, 'small')
  const prompted = tokenizer.encode(prompt).length
  const next = (before: Int32Array) =>
    Float32Array.from({ length: tokenizer.size }, (_, i) => (i === tokens[before.length - prompted] ? 1 : 0))
  return generate({ ...tokensBy(tokenizer), next, context: 100 }, prompt, { length: tokens.length, temperature: 0 })
}

const indexed = (names: readonly string[]) => Object.fromEntries(names.map((name, i) => [name, i]))

describe('What is generated', () => {
  it('keeps the space after the prompt where a tokenizer puts spaces before words', () => {
    const metaspace = { type: 'Metaspace', replacement: '▁', prepend_scheme: 'always', split: true }
    const vocab = indexed(['▁', 'a', 'b', '▁a', '▁b'])
    const json = smallTokenizer({
      added_tokens: [],
      pre_tokenizer: metaspace,
      decoder: metaspace,
      model: { type: 'BPE', unk_token: null, vocab, merges: ['▁ a', '▁ b'] }
    })
    expect(written(json, 'a b', [vocab['▁b']!, vocab['a']!, vocab['▁a']!])).to.equal(' ba a')
    expect(written(json, 'a', [vocab['b']!])).to.equal('b')
    expect(written(json, 'a', [])).to.equal('')
  })

  it('loses nothing where bytes do not make a character', () => {
    const vocab = indexed([
      '▁',
      'a',
      ...Array.from({ length: 256 }, (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`)
    ])
    const byte = (value: number) => 2 + value
    const decoders = [{ type: 'Replace', pattern: { String: '▁' }, content: ' ' }, { type: 'ByteFallback' }, { type: 'Fuse' }]
    const json = smallTokenizer({
      added_tokens: [],
      normalizer: { type: 'Prepend', prepend: '▁' },
      pre_tokenizer: null,
      decoder: { type: 'Sequence', decoders: [...decoders, { type: 'Strip', content: ' ', start: 1, stop: 0 }] },
      model: { type: 'BPE', unk_token: null, byte_fallback: true, vocab, merges: [] }
    })
    expect(written(json, 'aé', [vocab['▁']!, byte(0xc3), byte(0xbc), vocab['a']!])).to.equal(' üa')
    expect(written(json, 'aé', [byte(0x80), vocab['a']!])).to.equal('\ufffda')
    // A byte-level tokenizer has a token for each byte, of its number.
    expect(written(smallTokenizer(), 'é', [0xc3, 0xbc, 0x80])).to.equal('ü\ufffd')
  })

  describe('is drawn', () => {
    const LETTERS = ['a', 'b', 'c', 'd']
    // Probabilities of 0.4, 0.3, 0.2 and 0.1 at temperature 1.
    const next = () => Float32Array.of(0.3, 0.4, 0.1, 0.2).map(Math.log)
    const decode = (tokens: readonly number[]) => tokens.map((token) => LETTERS[token]).join('')
    const model = { encode: () => [0], decode, next, context: 9 }
    const letters = (options: GenerateOptions) => {
      const text = generate(model, 'a', { length: 2000, ...options })
      return LETTERS.map((letter) => text.split(letter).length - 1)
    }
    const near = (found: readonly number[], shares: readonly number[]) =>
      found.forEach((count, i) => expect(count / 2000, LETTERS[i]).closeTo(shares[i]!, 0.04))

    it('among all', () => near(letters({}), [0.3, 0.4, 0.1, 0.2]))
    it('among the likeliest so many', () => {
      near(letters({ topK: 2 }), [3 / 7, 4 / 7, 0, 0])
      expect(letters({ topK: 1 })).to.deep.equal([0, 2000, 0, 0])
      expect(letters({ topK: 9 })).to.deep.equal(letters({}))
    })
    it('among the likeliest whose probabilities come to a share', () => {
      near(letters({ topP: 0.75 }), [3 / 9, 4 / 9, 0, 2 / 9])
      near(letters({ topP: 0.65 }), [3 / 7, 4 / 7, 0, 0])
      expect(letters({ topP: 1e-9 })).to.deep.equal([0, 2000, 0, 0])
    })
    it('among those of the share that are so many, of which the share is', () =>
      // Of the three likeliest the first two are 7/9.
      near(letters({ topK: 3, topP: 0.77 }), [3 / 7, 4 / 7, 0, 0]))
    it('after the temperature', () => near(letters({ temperature: 0.5, topK: 2 }), [9 / 25, 16 / 25, 0, 0]))
    it('until a text comes, which is left out', () => {
      const text = generate(model, 'a', { length: 2000 })
      expect(text).to.include('cd')
      expect(generate(model, 'a', { length: 2000, stop: 'cd' })).to.equal(text.slice(0, text.indexOf('cd')))
      expect(generate(model, 'a', { length: 20, stop: 'abcdabcdabcd' })).to.equal(text.slice(0, 20))
    })
    for (const [name, value] of [
      ['topK', 0],
      ['topP', 0],
      ['topP', 1.1],
      ['stop', '']
    ] as const)
      it(`but not with ${name}: ${JSON.stringify(value)}`, () =>
        refused('INVALID_OPTION', () => generate(model, 'a', { [name]: value }), name))
  })

  it('is decoded alone where it changes what the prompt is decoded to', () => {
    const decode = (tokens: readonly number[]) => Buffer.from(tokens).toString('utf8')
    const next = () => Float32Array.from({ length: 256 }, (_, i) => (i === 0xa9 ? 1 : 0))
    const model = { encode: () => [0x61, 0xc3], decode, next, context: 9 }
    expect(generate(model, 'a?', { length: 1, temperature: 0 })).to.equal('\ufffd')
  })
})
