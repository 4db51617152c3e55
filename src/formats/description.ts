import { ArbalestError, messageOf } from '../errors.js'
import { buildGraph } from '../model/graph-builder.js'
import { withoutOperators } from '../model/composed.js'
import type { Model } from '../model/model.js'
import { corruptFile } from './faults.js'
import { parseStrictJson, plainJson } from './strict-json.js'

/** The key of safetensors metadata under which a description stands. */
export const DESCRIPTION = 'arbalest'

const VERSION = 1

/** Blocks within blocks, far beyond any network of people. */
const DEPTH = 64

/** A model's layers as JSON: enough to build it again. */
export function describe(model: Model): string {
  return JSON.stringify({ version: VERSION, model: withoutOperators(model) })
}

/**
 * The model that a file describes, with every shape checked. No code is loaded: a model with operators of its own has to be given by the
 * caller. Throws DATA_CORRUPT and UNSUPPORTED_OPERATOR.
 */
export function parseDescription(text: string, file: string): Model {
  const fault = (found: string, expected: string, cause?: unknown) => corruptFile(file, `metadata ${DESCRIPTION}`, found, expected, cause)
  let parsed: unknown
  try {
    parsed = plainJson(parseStrictJson(text, { depth: DEPTH }))
  } catch (cause) {
    throw fault('no such JSON', 'a description of a model', cause)
  }
  const { version, model } = Object(parsed) as { readonly version?: unknown; readonly model?: unknown }
  if (version !== VERSION) throw fault(`version ${JSON.stringify(version)}`, `version ${VERSION}`)
  if (typeof (model as Partial<Model> | null)?.name !== 'string') throw fault('no model with a name', 'a model')
  const module = moduleIn(model)
  if (module !== undefined) {
    const message = `${file}: its model has an operator of module ${JSON.stringify(module)}, and no code is loaded on a file's word; give the model itself with \`model\``
    throw new ArbalestError('UNSUPPORTED_OPERATOR', message, { data: { file, module } })
  }
  try {
    buildGraph(model as Model, { batch: 1, mode: 'predict' })
  } catch (cause) {
    throw fault(messageOf(cause), 'layers that fit together', cause)
  }
  return model as Model
}

/** The module of the first operator of somebody's own, however deep in the layers. */
function moduleIn(part: unknown): unknown {
  if (typeof part !== 'object' || part === null) return undefined
  if ('kind' in part && part.kind === 'composed') return 'module' in part ? part.module : null
  for (const each of Object.values(part)) {
    const found = moduleIn(each)
    if (found !== undefined) return found
  }
  return undefined
}
