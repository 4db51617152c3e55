import * as v from 'valibot'
import { invalidOption } from '../errors.js'
import { elements } from '../model/graph.js'
import type { Model } from '../model/model.js'
import type { Normalisation } from '../model/normalisation.js'
import { corruptFile } from './file-errors.js'
import { parseStrictJson, plainJson } from './strict-json.js'
import type { TokenizerFiles } from './tokenizer/tokenizer-files.js'

/** How a row of a table, a text or an image becomes a sample. A saved model keeps it, so that new ones are encoded as those of the training were. */
export type SampleEncoding = LabelledEncoding | LanguageEncoding | ImageEncoding

/** How a row or a text with an answer of its own becomes a sample and a target. */
export type LabelledEncoding = TableEncoding | TextEncoding

/** The features of a row are those of its columns, one column after the other. */
export interface TableEncoding {
  readonly kind: 'table'
  readonly columns: readonly ColumnEncoding[]
  readonly target: TargetEncoding
}

/** The features of a column. */
export type ColumnEncoding = NumberEncoding | CategoryEncoding

/** One feature, (x - mean) / std, 0 where x is missing; and another one that is 1 there, if rows of the training lacked it. */
export interface NumberEncoding {
  readonly kind: 'number' | 'date'
  readonly name: string
  /** Of the training rows. A date is a number of days since 1970. */
  readonly mean: number
  readonly std: number
  readonly missing: boolean
}

/** A feature for each value, one for all other values, and one for none if rows of the training lacked it: 1 for the row's, 0 for the others. */
export interface CategoryEncoding {
  readonly kind: 'category'
  readonly name: string
  readonly values: readonly string[]
  readonly missing: boolean
}

/** What is predicted: a class, or a number, which the model gives as (y - mean) / std. */
export type TargetEncoding =
  | { readonly kind: 'classes'; readonly name: string }
  | { readonly kind: 'number'; readonly name: string; readonly mean: number; readonly std: number }

/** The bytes of a text in UTF-8 up to a length, or the tokens of a tokenizer, each plus 1; zeros after its end. */
export interface TextEncoding {
  readonly kind: 'bytes' | 'tokens'
  /** Of `tokens`. */
  readonly tokenizer?: TokenizerFiles
  /** Of `tokens`: how many values a token has, the end among them. */
  readonly tokens?: number
  /** The column or field of the text; absent if the texts were files. */
  readonly column?: string
  readonly length: number
  readonly target: TargetEncoding
}

/** Windows of a text's tokens, each of which is followed by the one that is predicted. */
export interface LanguageEncoding {
  readonly kind: 'language'
  readonly tokenizer: TokenizerFiles
  /** Of the model. Where a tokenizer has more, no text has those. */
  readonly vocabulary: number
  /** Tokens of a window. */
  readonly length: number
}

/** The square at the centre of an image, whose shorter side is first scaled to `resize` pixels. A model without it takes as much of an image as has the shape of a sample. */
export interface ImageEncoding {
  readonly kind: 'image'
  /** At least the height and width of a sample. */
  readonly resize: number
  /** Both sides are scaled to `resize`: an image that is not square is distorted. Nothing is cut off if `resize` is the size of a sample. */
  readonly stretch?: true
}

/** The crop that ImageNet's validation images usually have: an eighth of the shorter side is cut off. */
export function usualCrop(size: number): ImageEncoding {
  return { kind: 'image', resize: Math.round(size / 0.875) }
}

/** How many features a row has. */
export function featuresOf({ columns }: Pick<TableEncoding, 'columns'>): number {
  return columns.reduce((sum, column) => sum + widthOf(column), 0)
}

export function widthOf(column: ColumnEncoding): number {
  return (column.kind === 'category' ? column.values.length + 1 : 1) + (column.missing ? 1 : 0)
}

/** The target of an encoding that gives numbers; undefined if it gives classes. */
export function numberTarget(encoding: SampleEncoding): Extract<TargetEncoding, { kind: 'number' }> | undefined {
  return 'target' in encoding && encoding.target.kind === 'number' ? encoding.target : undefined
}

const finite = v.pipe(v.number(), v.finite())
const positive = v.pipe(finite, v.gtValue(0))

const target = v.variant('kind', [
  v.strictObject({ kind: v.literal('classes'), name: v.string() }),
  v.strictObject({ kind: v.literal('number'), name: v.string(), mean: finite, std: positive })
])

const column = v.variant('kind', [
  v.strictObject({ kind: v.picklist(['number', 'date']), name: v.string(), mean: finite, std: positive, missing: v.boolean() }),
  v.strictObject({ kind: v.literal('category'), name: v.string(), values: v.array(v.string()), missing: v.boolean() })
])

const length = v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(2 ** 20))

const tokenizer = v.strictObject({ json: v.string(), config: v.exactOptional(v.string()) })

const encoding = v.variant('kind', [
  v.strictObject({ kind: v.literal('table'), columns: v.pipe(v.array(column), v.minLength(1)), target }),
  v.strictObject({
    kind: v.literal('bytes'),
    column: v.exactOptional(v.string()),
    length,
    target
  }),
  v.strictObject({
    kind: v.literal('tokens'),
    tokenizer,
    tokens: v.pipe(v.number(), v.safeInteger(), v.minValue(2), v.maxValue(2 ** 21)),
    column: v.exactOptional(v.string()),
    length,
    target
  }),
  v.strictObject({
    kind: v.literal('language'),
    tokenizer,
    vocabulary: v.pipe(v.number(), v.safeInteger(), v.minValue(1), v.maxValue(2 ** 21)),
    length
  }),
  v.strictObject({ kind: v.literal('image'), resize: positive, stretch: v.exactOptional(v.literal(true)) })
])

/** Whether a value of a caller's is an encoding. */
export function isEncoding(given: unknown): given is SampleEncoding {
  return v.safeParse(encoding, given).success
}

/** Whether it is one of rows, or of texts with answers. */
export function isLabelledEncoding(given: unknown): given is LabelledEncoding {
  return isEncoding(given) && 'target' in given
}

/** The normalisation of a caller's. Throws INVALID_OPTION. */
export function checkedNormalisation(given: Normalisation, model: Model): Normalisation {
  const { mean, std } = Object(given) as Partial<Normalisation>
  const check = (name: string, list: unknown, holds: (item: unknown) => boolean): void => {
    if (!Array.isArray(list) || !list.every(holds) || !isForChannels(list, model))
      throw invalidOption(`normalisation.${name}`, list, `give numbers${name === 'std' ? ' above 0' : ''}, ${forChannels(model)}`)
  }
  check('mean', mean, isNumber)
  check('std', std, isPositive)
  return given
}

export const isNumber = (number: unknown): number is number => Number.isFinite(number)
export const isPositive = (number: unknown): number is number => isNumber(number) && number > 0

/** One number for each channel, one for all, or none. */
export function isForChannels(list: readonly unknown[], { input: [channels] }: Model): boolean {
  return list.length <= 1 || list.length === channels
}

export function forChannels({ input: [channels = 1] }: Model): string {
  return channels === 1 ? 'one for the channel' : `one for each of ${channels} channels, or one for all`
}

/** Checks what a caller says of a model: the names of its classes, and its encoding. Throws INVALID_OPTION. */
export function checkDescription(classNames: unknown, encodedBy: unknown): void {
  if (classNames !== undefined && !(Array.isArray(classNames) && classNames.every((each) => typeof each === 'string')))
    throw invalidOption('classNames', classNames, 'give a list of names')
  if (encodedBy !== undefined && !isEncoding(encodedBy))
    throw invalidOption('encoding', encodedBy, 'give the encoding of a model, or leave it out')
}

/** Of lists in lists: an encoding has its columns and their values. */
const DEPTH = 8

/** Values of JSON that a column has for each of its features, at most, and that an encoding has besides. */
const VALUES_OF_FEATURE = 8
const FURTHER_VALUES = 64

/** An encoding that a file has as JSON; `sample` is the shape that it must give. Throws DATA_CORRUPT. */
export function parseEncoding(text: string, file: string, sample: readonly number[]): SampleEncoding {
  const fault = (found: string, cause?: unknown) =>
    corruptFile(file, { where: 'metadata encoding', expected: `an encoding that gives (${sample.join(', ')})`, found, cause })
  let json: unknown
  try {
    json = plainJson(parseStrictJson(text, { depth: DEPTH, values: VALUES_OF_FEATURE * elements(sample) + FURTHER_VALUES }))
  } catch (cause) {
    throw fault('text that is no valid JSON', cause)
  }
  const parsed = v.safeParse(encoding, json)
  if (!parsed.success) throw fault(`${v.getDotPath(parsed.issues[0]) ?? 'a value'}: ${parsed.issues[0].message}`)
  const found = parsed.output
  if (found.kind === 'image') {
    const [channels, height = Infinity, width, ...more] = sample
    const isSquare = (channels === 1 || channels === 3) && height === width && more.length === 0
    if (!isSquare || found.resize < height) throw fault('one that gives smaller images, or none')
    return found
  }
  const width = found.kind === 'table' ? featuresOf(found) : found.length
  if (sample.length !== 1 || sample[0] !== width) throw fault(`one that gives (${width})`)
  return found
}
