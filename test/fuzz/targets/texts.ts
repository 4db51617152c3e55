import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodeTexts } from '../../../src/data/texts/encode-texts.js'
import { type TextsDataset } from '../../../src/data/texts/labelled-texts.js'
import { parseEncoding, type TextEncoding } from '../../../src/formats/encoding.js'
import { smallTokenizer } from '../../formats/support/small-tokenizer.js'
import type { Choice } from '../support/choice.js'
import { damaged } from '../support/damage.js'
import { jsonOf } from '../support/json.js'
import { harmed, junk } from '../support/junk.js'
import { refusingBy } from '../support/refusals.js'
import type { Target } from '../support/target.js'
import { datasetFromTexts } from '../../../src/data/datasets.js'

const CODES = ['DATA_CORRUPT', 'DATA_NOT_FOUND', 'INVALID_OPTION', 'UNKNOWN_NAME', 'OUT_OF_MEMORY'] as const

/** A zero character is refused in files, and a space in texts that are encoded. */
const ZERO = '\0'
const WORDS = [
  'the hand',
  'and the other',
  '世界 🙂',
  'é\u{301}',
  '\u{feff}',
  '<|endoftext|>',
  '  ',
  'x'.repeat(3000),
  '"',
  '\r\n',
  '\u{2028}'
]
const LENGTHS = [1, 2, 7, 64, 300] as const

/**
 * Texts with labels as bytes or byte pairs: a table or a folder that is damaged, of which the encoding that a model would keep is read back, harmed or not, and encodes any text
 * as the training's were.
 */
export function textsTarget(folder: string): Target {
  return async (choice) => {
    const tokenizer = choice.happens(0.5)
      ? smallTokenizer(choice.happens(0.1) ? { model: JSON.parse(jsonOf(junk(choice))) as unknown } : {})
      : undefined
    const length: unknown = choice.happens(0.95) ? choice.among(LENGTHS) : junk(choice)
    const common = { length, ...(tokenizer !== undefined && { tokenizer: { json: tokenizer } }) }
    const options = choice.happens(0.7) ? table(folder, choice) : classFolders(folder, choice)
    const data = await refusingBy(CODES, () => datasetFromTexts({ ...common, ...options } as never))
    checkTexts(data)
    const { encoding } = data
    const kept = jsonOf(choice.happens(0.5) ? harmed(encoding, choice) : encoding)
    const read = await refusingBy(['DATA_CORRUPT'], () => parseEncoding(kept, 'fuzz', [encoding.length]) as TextEncoding)
    if (read.kind !== 'bytes' && read.kind !== 'tokens') return
    const texts = Array.from({ length: 1 + choice.below(3) }, () => someText(choice) + (choice.happens(0.1) ? ZERO : ''))
    const again = await refusingBy(['DATA_CORRUPT', 'OUT_OF_MEMORY'], () => encodeTexts(read, texts))
    checkTokens(again, read)
    if (again.length !== texts.length * read.length) throw new Error(`${again.length} tokens of ${texts.length} texts`)
  }
}

function someText(choice: Choice): string {
  return Array.from({ length: choice.below(6) }, () => choice.among(WORDS)).join(choice.among(['', ' ']))
}

function table(folder: string, choice: Choice): object {
  const rows = Array.from({ length: 12 }, (_, i) => ({
    words: someText(choice),
    opinion: choice.happens(0.01) ? `${i}` : i % 2 === 0 ? 'good' : 'bad'
  }))
  const [extension, content] = choice.happens(0.5)
    ? ['csv', ['words,opinion', ...rows.map(({ words, opinion }) => `"${words.replaceAll('"', '""')}",${opinion}`)].join('\n')]
    : ['jsonl', rows.map((row) => JSON.stringify(row)).join('\n')]
  const file = join(folder, `texts.${extension}`)
  const bytes = Buffer.from(content)
  writeFileSync(file, choice.happens(0.7) ? bytes : damaged(bytes, choice))
  const column = (name: string) => (choice.happens(0.97) ? name : junk(choice))
  return { file, text: column('words'), target: column('opinion') }
}

function classFolders(folder: string, choice: Choice): object {
  const file = join(folder, 'classes')
  rmSync(file, { recursive: true, force: true })
  for (const name of ['bad', 'good'].slice(choice.happens(0.05) ? 1 : 0)) {
    mkdirSync(join(file, name), { recursive: true })
    for (let i = 0; i < 3; i++) {
      const bytes = Buffer.from(`${name} ${someText(choice)}`)
      writeFileSync(join(file, name, `${i}.txt`), choice.happens(0.95) ? bytes : damaged(bytes, choice))
    }
  }
  return { file }
}

/** Throws if an accepted data set has other tokens than its encoding says, or labels that are no classes. */
function checkTexts({ encoding, classes, train, test }: TextsDataset): void {
  for (const { count, samples, labels, targets } of [train, test]) {
    if (count < 1 || samples.length !== count * encoding.length) throw new Error(`${samples.length} tokens for ${count} texts`)
    checkTokens(samples as Int32Array, encoding)
    if (labels?.some((label) => !(label >= 0 && label < classes))) throw new Error(`a label outside of ${classes} classes`)
    if (targets?.some((value) => !Number.isFinite(value))) throw new Error('a target that is not finite')
  }
}

/** Tokens are in range, and behind the end of a text there is nothing but zeros. */
function checkTokens(tokens: Int32Array, { tokens: values = 256, length }: Pick<TextEncoding, 'tokens' | 'length'>): void {
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at]!
    if (!(token >= 0 && token < values)) throw new Error(`a token outside of ${values}`)
    if (token !== 0 && at % length > 0 && tokens[at - 1] === 0) throw new Error('a token behind the end of its text')
  }
}
