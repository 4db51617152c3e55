import { expect } from 'chai'
import { Tokenizer } from '../../src/formats/tokenizer/tokenizer.js'
import { generate, tokensBy } from '../../src/trained/generate.js'
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

  it('is decoded alone where it changes what the prompt is decoded to', () => {
    const decode = (tokens: readonly number[]) => Buffer.from(tokens).toString('utf8')
    const next = () => Float32Array.from({ length: 256 }, (_, i) => (i === 0xa9 ? 1 : 0))
    const model = { encode: () => [0x61, 0xc3], decode, next, context: 9 }
    expect(generate(model, 'a?', { length: 1, temperature: 0 })).to.equal('\ufffd')
  })
})
