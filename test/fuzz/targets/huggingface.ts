import { parseShardedIndex } from '../../../src/formats/huggingface/sharded-index.js'
import { Tokenizer } from '../../../src/formats/tokenizer/tokenizer.js'
import { SMALL_MERGES, SMALL_VOCABULARY, smallTokenizer } from '../../formats/support/small-tokenizer.js'
import type { Choice } from '../support/choice.js'
import { damaged } from '../support/damage.js'
import { jsonOf } from '../support/json.js'
import { harmed, junk } from '../support/junk.js'
import { refusingBy } from '../support/refusals.js'
import type { Target } from '../support/target.js'

const LETTERS = Object.entries(SMALL_VOCABULARY).filter(([token, id]) => id >= 256 || /^[a-eĠ]$/.test(token))

/** Parts of tokenizers; a small vocabulary, so that harm does not only meet its tokens. */
const PARTS = {
  normalizer: [null, { type: 'NFC' }, { type: 'Lowercase' }, { type: 'Replace', pattern: { Regex: ' {2,}' }, content: ' ' }],
  pre_tokenizer: [
    { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    {
      type: 'Sequence',
      pretokenizers: [{ type: 'Split', pattern: { Regex: String.raw`\p{L}+|\s+` }, behavior: 'Isolated' }, { type: 'ByteLevel' }]
    },
    { type: 'Whitespace' },
    { type: 'Digits', individual_digits: true }
  ],
  decoder: [{ type: 'ByteLevel' }, { type: 'BPEDecoder', suffix: '</w>' }, { type: 'Sequence', decoders: [{ type: 'Fuse' }] }]
}

const TEXTS = ['the other and', '', ' \n\t ', '世界 🙂', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaa', '<|endoftext|>']

/** A tokenizer.json harmed as a value, or as text; what is accepted encodes and decodes. */
export function tokenizersTarget(): Target {
  const whole = Buffer.from(smallTokenizer())
  return async (choice) => {
    const config = choice.happens(0.3)
      ? {
          config: jsonOf(
            choice.happens(0.5) ? harmed({ add_bos_token: true, clean_up_tokenization_spaces: true }, choice) : junk(choice, 2)
          )
        }
      : {}
    const json = choice.happens(0.2)
      ? damaged(whole, choice).toString()
      : jsonOf(choice.happens(0.1) ? junk(choice, 3) : harmedTokenizer(choice))
    await refusingBy(['DATA_CORRUPT'], () => {
      const tokenizer = Tokenizer.of({ json, ...config }, 'fuzz')
      const tokens = tokenizer.encode(choice.among(TEXTS))
      if (tokens.some((token) => !(token >= 0 && token < tokenizer.size))) throw new Error(`a token outside of ${tokenizer.size}`)
      if (typeof tokenizer.decode([...tokens, choice.below(400)]) !== 'string') throw new Error('no text')
    })
  }
}

function harmedTokenizer(choice: Choice): unknown {
  const parts = Object.fromEntries(Object.entries(PARTS).map(([name, values]) => [name, choice.among<unknown>(values)]))
  const model = { type: 'BPE', unk_token: null, vocab: Object.fromEntries(LETTERS.map(([token], i) => [token, i])), merges: SMALL_MERGES }
  const tokenizer = JSON.parse(
    smallTokenizer({ ...parts, model, added_tokens: [{ id: LETTERS.length, content: '<|endoftext|>', special: true }] })
  ) as object
  return choice.happens(0.15) ? tokenizer : harmed(tokenizer, choice)
}

const INDEX = {
  metadata: { total_size: 96 },
  weight_map: {
    'a.weight': 'model-00001-of-00002.safetensors',
    'a.bias': 'model-00001-of-00002.safetensors',
    'b.weight': 'model-00002-of-00002.safetensors'
  }
}

const PATHS = [
  '../model.safetensors',
  '/etc/passwd',
  'a/../../b.safetensors',
  '.safetensors',
  '..safetensors',
  'C:\\x.safetensors',
  'a\0.safetensors',
  ''
]

/** An index harmed as a value, with ways out of its folder, then perhaps as text. */
export function shardedIndexesTarget(): Target {
  return (choice) => {
    const paths = choice.happens(0.4)
      ? { ...INDEX, weight_map: { ...INDEX.weight_map, [choice.happens(0.5) ? 'a.bias' : 'proto']: choice.among(PATHS) } }
      : INDEX
    const value = choice.happens(0.1) ? junk(choice, 3) : choice.happens(0.3) ? paths : harmed(paths, choice)
    const text = choice.happens(0.3) ? damaged(Buffer.from(written(value)), choice).toString() : written(value)
    return refusingBy(['DATA_CORRUPT'], () => {
      for (const file of parseShardedIndex(text, 'fuzz').values())
        if (/[/\\\0]/.test(file) || file.startsWith('.') || !file.endsWith('.safetensors')) throw new Error(`a file elsewhere: ${file}`)
    })
  }
}

/** With a name that is special where objects are assigned to. */
function written(value: unknown): string {
  return jsonOf(value).replaceAll('"proto"', '"__proto__"')
}
