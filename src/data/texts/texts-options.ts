import { group, option, required, type GivenOptions, type ToldByName } from '../../schema/group.js'
import { text as words, whole } from '../../schema/values.js'
import { tokenizerPath } from '../open-options.js'
import { tableOptions } from '../tables/table-options.js'

const { text, target, task, delimiter, testFraction, seed } = tableOptions.entries

/** The options of `datasetFromTexts`. */
export const textsOptions = group({
  /** A table (.csv, .tsv, .jsonl, .ndjson, .parquet), or a folder with a folder of .txt files for each class. */
  file: required(words('the path of a table or of a folder')),
  /** The file's name if omitted. */
  name: option(words('a word or two')),
  /** Bytes of a text that the model sees, or tokens: 256 if omitted. */
  length: option(whole({ min: 1, max: 2 ** 20, unit: 'bytes' }), { default: 256 }),
  /** The folder of a tokenizer (tokenizer.json, or vocab.json and merges.txt), or a tokenizer.json: its tokens instead of bytes. */
  tokenizer: option(tokenizerPath),
  text,
  target,
  task,
  delimiter,
  testFraction,
  seed
})

/** The options of `datasetFromTexts`. */
export interface TextsOptions extends GivenOptions<typeof textsOptions>, ToldByName {}
