import * as v from 'valibot'
import { foundAt } from '../formats/file-errors.js'
import type { ImportOptions } from '../formats/import-options.js'
import type { Model } from '../model/model.js'
import { familyOf, sizedNames, zoo } from '../model/zoo/families.js'
import { gptOptions, type GptOptions } from '../model/zoo/gpt.js'
import { listFromText, realFromText, type FromText } from '../schema/from-text.js'
import type { Faults } from '../schema/faults.js'
import { group, option, orShort, required, type Entries, type GivenOptions, type ToldByName } from '../schema/group.js'
import { either, kind, list, oneOf, real, text, truth, type Schema } from '../schema/values.js'

const file = v.pipe(
  text('the path of a safetensors file'),
  v.check((path) => foundAt(path) !== undefined, 'there is no such file; name a safetensors file')
)

const initialWeights = group({
  /** A safetensors file, a checkpoint, or a folder of checkpoints. */
  file: required(file, {
    text: 'weights to begin with, as for fine-tuning: a safetensors file, or a folder of checkpoints',
    flag: '--initial-weights <file>'
  }),
  /** Maps the file's names to the model's: a record of the names that differ, or a function that returns undefined for tensors to ignore. */
  names: option(
    kind<NonNullable<ImportOptions['names']>>(
      (value) => typeof value === 'function' || (typeof value === 'object' && value !== null),
      "a record from the file's names to the model's, or a function"
    ),
    { text: "the file's names to the model's: a record or a function" }
  ),
  /** Layers or parameters that start from random weights instead of the file's: `fc` stands for `fc.weight` and `fc.bias`, `*` for any characters. */
  reinitialise: option(list(text('a list of layers'), 'a list of layers'), {
    text: "layers that start from random weights instead of the file's, such as a new head: fc, layer4.*",
    flag: '--reinitialise <pattern...>'
  }),
  /** Whether every tensor of the file must be used and every value of the model must be in the file; true if omitted. Shapes must always agree. */
  strict: option(truth(), { text: 'every tensor of the file must be used, and every value of the model be in the file', otherwise: 'true' })
})

/** First weights from a file; `reinitialise: ['fc']` gives a new head. Every shape that does not fit is a fault. */
export interface InitialWeightsOptions extends GivenOptions<typeof initialWeights>, ToldByName {}

export const modelOrName: Schema<Model | string> = either(
  [
    oneOf<string>(Object.keys(zoo)),
    kind<Model>((value) => typeof value === 'object' && value !== null, 'a Model, or the name of one in the zoo')
  ],
  (value) => (typeof value === 'string' ? 0 : 1)
)

/** Of classes or labels, of which one at least counts; `what` completes "give". */
function weights(what: string): Schema<readonly number[]> {
  return v.pipe(
    list(real({ min: 0 }), what, { min: 1 }),
    v.check((given) => given.some((weight) => weight > 0), 'use numbers of which one at least is above 0')
  )
}

const classWeights: Schema<'balanced' | readonly number[]> = either(
  [oneOf(['balanced']), weights("'balanced', or a list of numbers of at least 0, one for each class")],
  (value) => (value === 'balanced' ? 0 : 1)
)

const positiveWeights: Schema<'balanced' | number | readonly number[]> = either(
  [oneOf(['balanced']), real({ above: 0 }), weights("'balanced', a number above 0, or a list of a number for each label")],
  (value) => (value === 'balanced' ? 0 : typeof value === 'number' ? 1 : 2)
)

/** `balanced`, or numbers separated by commas. */
function weightsFromText(fix: string): FromText {
  return (given, refuse) => (given === 'balanced' ? given : listFromText(realFromText)(given, () => refuse(fix)))
}

const classWeightsFromText = weightsFromText('use balanced, or a number for each class, separated by commas')
const numbersFromText = weightsFromText('use balanced, a number, or a number for each label, separated by commas')

/** One number is for all labels. */
const positiveWeightsFromText: FromText = (given, refuse) => {
  const found = numbersFromText(given, refuse)
  return Array.isArray(found) && found.length === 1 ? (found[0] as unknown) : found
}

export const modelOptions = {
  /** A Model, or the name of one in the zoo: `lenet`, `resnet20`. Needed unless `initial` has the model. */
  model: option(modelOrName, {
    text: Object.keys(zoo).join(', '),
    takes: 'a Model, or the name of one in the zoo',
    flag: '--model <name>',
    otherwise: 'lenet',
    common: true
  }),
  /** The size of a transformer (`gpt`, `text-classifier`, `vit-tiny` and larger) or of a recurrent model (`lstm`, `gru`): `{ layers: 6, heads: 6, width: 384 }`. */
  size: option<GptOptions, GptOptions>(gptOptions, { text: 'the size of gpt, lstm, gru, text-classifier, vit-tiny and larger' }),
  /**
   * A folder as Hugging Face's transformers saves it, of GPT-2, a ResNet or a ViT: its model is trained further, with its tokenizer or as it takes images. Data with other classes
   * get a new head.
   */
  initial: option(text('the path of a Hugging Face folder'), {
    text: 'a Hugging Face folder whose model is trained further: config.json, weights, tokenizer',
    flag: '--initial <folder>'
  }),
  /** Weights to begin with instead of random ones, as for fine-tuning: a safetensors file or a folder of checkpoints, alone or with options. */
  initialWeights: option<string | InitialWeightsOptions, InitialWeightsOptions>(orShort(file, initialWeights, 'file'), {
    also: ['weights', 'pretrained']
  }),
  /**
   * Layers or parameters whose weights stay as they are, bit for bit, in addition to the model's own frozen layers; `*` stands for any characters:
   * `['conv1', 'layer1.*.weight']`.
   */
  freeze: option(list(text('a list of names of layers or parameters'), 'a list of names of layers or parameters'), {
    text: 'layers whose weights stay as they are: conv1,layer1.*',
    flag: '--freeze <names>',
    default: []
  }),
  /** Label smoothing of the softmax cross-entropy in training, instead of the model's own: 0.1 spreads a tenth of each target evenly over all classes. */
  labelSmoothing: option(real({ min: 0, below: 1 }), {
    text: 'fraction of each target that is spread over all classes',
    flag: '--label-smoothing <fraction>',
    otherwise: '0'
  }),
  /**
   * How much the samples of each class count in the loss that is learnt from, instead of the model's own weights; the accuracy and the loss of test samples have none. `'balanced'`
   * lets all classes count the same: a class's weight is the number of training samples / (classes x samples of the class), as scikit-learn has it.
   */
  classWeights: option(classWeights, {
    text: 'how much the samples of each class count in training: balanced, or a number for each class',
    takes: 'balanced, or a list of numbers of at least 0',
    flag: '--class-weights <weights>',
    fromText: classWeightsFromText,
    otherwise: 'all count the same',
    also: ['classWeight', 'class_weight']
  }),
  /**
   * How much an element counts whose label holds, under binary cross-entropy, instead of the model's own weights: a number for all labels, or one for each. `'balanced'` lets what holds and
   * what does not count the same: a label's weight is the sum of 1 - target over the sum of the targets of the training samples.
   */
  positiveWeights: option(positiveWeights, {
    text: 'how much an element counts whose label holds, under binary cross-entropy: balanced, a number, or one for each label',
    takes: 'balanced, a number above 0, or a list of numbers of at least 0',
    flag: '--positive-weights <weights>',
    fromText: positiveWeightsFromText,
    otherwise: '1',
    also: ['posWeight', 'pos_weight']
  })
}

/** With `initial`, refuses the options that its folder determines; without it, requires `model`. */
export function checkInitial(
  faults: Faults,
  {
    initial,
    ...others
  }: { readonly initial?: unknown; readonly model?: unknown; readonly size?: unknown; readonly initialWeights?: unknown }
): void {
  if (initial === undefined) {
    if (others.model === undefined)
      faults.refuse('model', undefined, 'give a Model, or the name of one in the zoo; or a Hugging Face folder as initial')
    return
  }
  for (const [name, value] of Object.entries(others))
    if (value !== undefined) faults.refuse(name, value, 'leave it out: initial has a model and its weights')
}

/** The models that have an option of a size, for messages. */
function modelsWith(name: string): string {
  const { [name]: entry }: Entries = gptOptions.entries
  return entry?.about?.of?.join(', ') ?? sizedNames()
}

/** Only some models of the zoo have a size. */
export function checkSize(faults: Faults, given: GptOptions | undefined, model: unknown): void {
  if (given === undefined) return
  const check = typeof model === 'string' ? familyOf(model)?.checkSize : undefined
  if (check) faults.attempt(() => check(given, 'size'))
  else
    for (const [name, value] of Object.entries(given))
      faults.refuse(`size.${name}`, value, `leave it out: only model ${modelsWith(name)} has it`)
}
