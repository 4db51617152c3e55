import { ArbalestError, messageOf } from '../errors.js'
import { predictionGraphInPieces } from '../model/graph-builder.js'
import { MOST_NESTED_LISTS, type Model } from '../model/model.js'
import { corruptFile } from './file-errors.js'
import { parseStrictJson, plainJson } from './strict-json.js'
import { inTurns } from '../turns.js'

/** The key of a model's description in safetensors metadata. */
export const DESCRIPTION = 'arbalest'

const VERSION = 1

/** Of a list of layers, the most levels of JSON: the list, the lists that a concatenation keeps it in, and the layer that has them. */
const LEVELS_OF_LIST = 3

/** Levels of JSON around a model's list of layers, and those of the options of the innermost layer. */
const [LEVELS_AROUND, LEVELS_OF_OPTIONS] = [2, 64]

/** The deepest nesting of JSON: that of the deepest model. */
const MAX_DEPTH = LEVELS_AROUND + LEVELS_OF_LIST * MOST_NESTED_LISTS + LEVELS_OF_OPTIONS

/** A model's layers as JSON, from which `parseDescription` builds the model again. */
export function describe(model: Model): string {
  return JSON.stringify({ version: VERSION, model })
}

/**
 * The model that a file describes, with all shapes checked. Never loads code that a file names: the caller must give a model that has
 * operators of its own. Throws DATA_CORRUPT and UNSUPPORTED_OPERATOR.
 */
export async function parseDescription(text: string, file: string): Promise<Model> {
  const fault = (found: string, expected: string, cause?: unknown) =>
    corruptFile(file, { where: `metadata ${DESCRIPTION}`, expected, found, cause })
  let parsed: unknown
  try {
    parsed = plainJson(parseStrictJson(text, { depth: MAX_DEPTH }))
  } catch (cause) {
    throw fault('text that is no valid JSON', 'a description of a model', cause)
  }
  const { version, model } = Object(parsed) as { readonly version?: unknown; readonly model?: unknown }
  if (version !== VERSION) throw fault(`version ${JSON.stringify(version)}`, `version ${VERSION}`)
  if (typeof (model as Partial<Model> | null)?.name !== 'string') throw fault('a model without a name', 'a model')
  const module = moduleIn(model)
  if (module !== undefined) {
    const message = `${file}: its model has an operator of module ${JSON.stringify(module)}; code that a file names is not loaded: give the model itself with \`model\``
    throw new ArbalestError('UNSUPPORTED_OPERATOR', message, { data: { file, module } })
  }
  try {
    await inTurns(predictionGraphInPieces(model as Model))
  } catch (cause) {
    throw fault(messageOf(cause), 'layers that fit together', cause)
  }
  return model as Model
}

/** The module of the first user-defined operator, at any depth in the layers. */
function moduleIn(part: unknown): unknown {
  if (typeof part !== 'object' || part === null) return undefined
  if ('kind' in part && part.kind === 'composed') return 'module' in part ? part.module : null
  for (const each of Object.values(part)) {
    const found = moduleIn(each)
    if (found !== undefined) return found
  }
  return undefined
}
