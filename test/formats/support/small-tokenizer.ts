/** The characters that stand for the bytes in a byte-level vocabulary, as GPT-2 has them: what can be printed stands for itself. */
function byteCharacters(): readonly string[] {
  const printable = (byte: number) => (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174
  let next = 256
  return Array.from({ length: 256 }, (_, byte) => String.fromCodePoint(printable(byte) ? byte : next++))
}

const MERGES = ['t h', 'th e', 'Ġ the', 'a n', 'an d', 'Ġ and', 'e r']

/** 256 bytes, then the merges, then the end of a text. */
export const SMALL_VOCABULARY: Readonly<Record<string, number>> = Object.fromEntries(
  [...byteCharacters(), ...MERGES.map((pair) => pair.replace(' ', '')), '<|endoftext|>'].map((token, i) => [token, i])
)

export const SMALL_SIZE = Object.keys(SMALL_VOCABULARY).length

export const SMALL_MERGES: readonly string[] = MERGES

/** A tokenizer.json of GPT-2's kind with seven merges. */
export function smallTokenizer(changes: Readonly<Record<string, unknown>> = {}): string {
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true }
  const end = {
    id: SMALL_SIZE - 1,
    content: '<|endoftext|>',
    single_word: false,
    lstrip: false,
    rstrip: false,
    normalized: false,
    special: true
  }
  return JSON.stringify({
    version: '1.0',
    added_tokens: [end],
    normalizer: null,
    pre_tokenizer: byteLevel,
    post_processor: null,
    decoder: byteLevel,
    model: { type: 'BPE', unk_token: null, vocab: SMALL_VOCABULARY, merges: MERGES },
    ...changes
  })
}
