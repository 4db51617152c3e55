import { ArbalestError, unknownName } from '../../errors.js'
import { Faults } from '../../schema/faults.js'
import { group, type GivenOptions, type ToldByName } from '../../schema/group.js'
import { shownShape } from '../layer-checks.js'
import { defineModel, dropout, embedding, gru, linear, lstm } from '../layers.js'
import type { Model } from '../model.js'
import { checkedShape, COMMON, type ZooFamily, type ZooShape } from './family.js'
import { gptOptions } from './gpt.js'

const { heads: _heads, ...entries } = gptOptions.entries
const recurrentOptions = group(entries)

/** The size of a recurrent language model. The vocabulary and the context are those of the data. */
export interface RecurrentOptions extends GivenOptions<typeof recurrentOptions>, ToldByName {}

const CELLS = { lstm, gru }

/** The recurrent language models of the zoo. */
export type RecurrentName = 'lstm' | 'gru'

const USUAL = { layers: 2, width: 256, dropout: 0 }

/** Checked, and with defaults. Throws INVALID_OPTION with every fault; `path` is that of the size. */
function recurrentSize(given: RecurrentOptions, path: string): Required<RecurrentOptions> {
  const faults = new Faults()
  const size = { ...USUAL, ...faults.checked(recurrentOptions, given, { path }) }
  faults.throwAny()
  return size
}

/**
 * A recurrent language model over tokens (T), each position's output the logits of the next token (Mikolov et al., 2010): an embedding, `layers` of `lstm` or `gru`, and a linear layer,
 * named as in PyTorch's example `word_language_model`. 2 layers, 256 wide, without dropout if left out; dropout is behind the embedding and behind each layer (Zaremba et al., 2014).
 */
export function recurrent(shape: ZooShape, options: RecurrentOptions = {}, name: RecurrentName = 'lstm'): Model {
  const { input, classes } = checkedShape(shape)
  if (typeof name !== 'string' || !Object.hasOwn(CELLS, name)) throw unknownName('name', name, Object.keys(CELLS))
  const { layers, width, dropout: rate } = recurrentSize(options, '')
  if (input.length !== 1)
    throw new ArbalestError('SHAPE_MISMATCH', `model ${name}: received samples ${shownShape(input)}; it takes tokens (T): give it a text`)
  return defineModel({
    name,
    input,
    layers: [
      embedding(classes, width, { name: 'encoder' }),
      dropout(rate),
      CELLS[name](width, { name: 'rnn', layers, dropout: layers > 1 ? rate : 0 }),
      dropout(rate),
      linear(classes, { name: 'decoder' })
    ]
  })
}

export const recurrentFamilies: readonly ZooFamily[] = (Object.keys(CELLS) as RecurrentName[]).map((name) => ({
  models: { [name]: (shape, size) => recurrent(shape, size, name) },
  usual: { input: [128], classes: 65 },
  defaults: { ...COMMON, batch: 16, learningRate: 0.5, weightDecay: 0, epochs: 20, milestones: [0.8] },
  checkSize: (size, path) => void recurrentSize(size, path)
}))
