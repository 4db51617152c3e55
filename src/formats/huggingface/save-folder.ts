import { existsSync, readdirSync } from 'node:fs'
import { mkdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { ArbalestError, invalidOption, printable } from '../../errors.js'
import type { Model } from '../../model/model.js'
import { absolutePath, openFile } from '../../node.js'
import { unwritableFile } from '../file-errors.js'
import { toPyTorchName } from '../import-weights.js'
import type { PlainObject } from '../json-file.js'
import { writeSafetensors } from '../safetensors.js'
import type { SavedModel } from '../saved-model.js'
import type { Tensor } from '../tensor.js'
import { temporaryName } from '../write-file.js'
import { checkTokenizer, type CheckedTokenizer, type TokenizerFiles } from '../tokenizer/tokenizer-files.js'
import type { Architecture } from './architecture.js'
import { ARCHITECTURES, CONFIG } from './folder.js'
import { preprocessorConfig } from './preprocessor.js'
import { theirTensors } from './tensor-rules.js'

/** How a model becomes one of an architecture of transformers. Throws UNSUPPORTED_OPERATOR. */
export function checkFolderModel(model: Model) {
  for (const architecture of ARCHITECTURES) {
    const found = architecture.configOf(model)
    if (found) return { architecture, ...found }
  }
  const message = `model ${printable(model.name)}: its layers are those of none of ${ARCHITECTURES.map(({ type }) => type).join(', ')} of Hugging Face's transformers; save it as safetensors or ONNX`
  throw new ArbalestError('UNSUPPORTED_OPERATOR', message, { data: { model: model.name } })
}

/** Refuses a folder that has something in it. Throws INVALID_OPTION. */
export function checkNewFolder(path: string): void {
  if (existsSync(path) && !isEmpty(path)) throw invalidOption('path', path, 'it is there already, and not an empty folder: name a new one')
}

function isEmpty(path: string): boolean {
  try {
    return readdirSync(path).length === 0
  } catch {
    return false
  }
}

/**
 * Writes a model as a folder that `from_pretrained` of Hugging Face's transformers loads: config.json, model.safetensors in the names and layouts there, the tokenizer or
 * preprocessor_config.json. The folder appears when it is whole. Throws INVALID_OPTION for a folder that has something in it, UNSUPPORTED_OPERATOR for a model of another
 * architecture, WRITE_FAILED.
 */
export async function saveFolder(path: string, saved: SavedModel): Promise<void> {
  const { model, weights, statistics, normalisation, encoding } = saved
  const { architecture, config, rules } = checkFolderModel(model)
  checkNewFolder(path)
  const values = [...Object.entries(weights), ...Object.entries(statistics).filter(([name]) => !name.endsWith('.count'))]
  const tensors = theirTensors(rules, new Map(values.map(([name, tensor]) => [toPyTorchName(name), tensor])))
  const files: Record<string, string> = {
    [CONFIG]: json({ model_type: architecture.type, dtype: 'float32', ...config, ...beside(saved, architecture) })
  }
  if (architecture.samples === 'images') {
    const crop = encoding?.kind === 'image' ? encoding : undefined
    files['preprocessor_config.json'] = json(preprocessorConfig(normalisation, model.input, crop))
  }
  if (encoding?.kind === 'language') {
    const { tokenizer } = encoding
    files['tokenizer.json'] = tokenizer.json
    files['tokenizer_config.json'] = tokenizer.config ?? json(tokenizerConfig(tokenizer, model))
  }
  const folder = absolutePath(path)
  const temporary = temporaryName(folder)
  try {
    await mkdir(temporary)
    for (const [name, text] of Object.entries(files)) await writeSynced(join(temporary, name), text)
    await writeSafetensors(join(temporary, 'model.safetensors'), [...tensors, ...batchCounters(tensors)], { metadata: { format: 'pt' } })
    if (existsSync(folder)) await rmdir(folder)
    await rename(temporary, folder)
  } catch (cause) {
    await rm(temporary, { recursive: true, force: true }).catch(() => {})
    throw cause instanceof ArbalestError ? cause : unwritableFile(path, cause)
  }
}

/** How many batches each batch norm has seen: of one without it transformers says that it begins anew, though nothing there reads it. */
function batchCounters(tensors: ReadonlyMap<string, Tensor>): readonly (readonly [string, Tensor])[] {
  return [...tensors.keys()]
    .filter((name) => name.endsWith('.running_var'))
    .map((name) => [name.replace(/running_var$/, 'num_batches_tracked'), { shape: [], data: BigInt64Array.of(0n) }])
}

async function writeSynced(path: string, text: string): Promise<void> {
  await using handle = await openFile(path, 'wx')
  await handle.writeFile(text)
  await handle.sync()
}

/** The class that takes tokenizer.json as it is: that of GPT-2 would put its own way of splitting texts in the place of the tokenizer's. */
function tokenizerConfig(tokenizer: TokenizerFiles, { name, input }: Model): PlainObject {
  const end = endOfText(checkTokenizer(tokenizer, name))
  return {
    tokenizer_class: 'PreTrainedTokenizerFast',
    model_max_length: input[0],
    ...(end !== undefined && { bos_token: end.content, eos_token: end.content, unk_token: end.content })
  }
}

function endOfText({ addedTokens }: CheckedTokenizer): CheckedTokenizer['addedTokens'][number] | undefined {
  return addedTokens.find(({ content }) => content === '<|endoftext|>')
}

/** The number of a token that the tokenizer's config gives a role; that of the token that ends a text in GPT-2's vocabulary if it gives none. */
function numberOf(role: 'bos_token' | 'eos_token', tokenizer: CheckedTokenizer): number | null {
  const { [role]: given } = tokenizer.config
  const content = typeof given === 'string' ? given : (Object(given) as { readonly content?: unknown }).content
  const { vocab } = tokenizer.json['model'] as { readonly vocab: Readonly<Record<string, number>> }
  if (typeof content !== 'string') return endOfText(tokenizer)?.id ?? null
  return tokenizer.addedTokens.find((token) => token.content === content)?.id ?? (Object.hasOwn(vocab, content) ? vocab[content]! : null)
}

/** Names of classes; or the tokens around a text, for those that transformers would assume are of another vocabulary. */
function beside({ model, classNames, encoding }: SavedModel, { samples }: Architecture): PlainObject {
  if (encoding?.kind === 'language') {
    const tokenizer = checkTokenizer(encoding.tokenizer, model.name)
    return { bos_token_id: numberOf('bos_token', tokenizer), eos_token_id: numberOf('eos_token', tokenizer) }
  }
  const head = model.layers.at(-1)
  if (samples === 'tokens' || head?.kind !== 'linear') return { bos_token_id: null, eos_token_id: null }
  const names = Array.from({ length: head.features }, (_, i) => classNames?.[i] ?? `LABEL_${i}`)
  return {
    id2label: Object.fromEntries(names.map((name, i) => [i, name])),
    label2id: Object.fromEntries(names.map((name, i) => [name, i]))
  }
}

function json(value: PlainObject): string {
  return `${JSON.stringify(value, null, 2)}\n`
}
