import { printable } from '../../errors.js'
import { modelFile, readModel, saveModel, type ModelFormat } from '../../index.js'
import { EXIT, type ExitCode } from '../exit.js'
import { readingOptions, type ModelFlags } from './model-flags.js'

export interface ExportFlags extends ModelFlags {
  readonly out: string
  readonly format?: string
  readonly normalise?: boolean
  readonly json?: boolean
}

/** `arbalest export` and `arbalest import`: a file in, a file that describes itself or ONNX out. */
export async function runExport(file: string, { out, format, normalise, json = false, ...flags }: ExportFlags): Promise<ExitCode> {
  const { best, ...reading } = await readingOptions(flags)
  const { loaded, initialised, unused, ...model } = await readModel(await modelFile(file, { best }), reading)
  await saveModel(out, model, {
    ...(format !== undefined && { format: format as ModelFormat }),
    ...(normalise !== undefined && { normalise })
  })
  if (json) process.stdout.write(`${JSON.stringify({ file: out, model: model.model.name, loaded, initialised, unused })}\n`)
  else {
    const fresh = initialised.length > 0 ? `; starting anew: ${printable(initialised.join(', '))}` : ''
    const left = unused.length > 0 ? `; left out: ${printable(unused.join(', '))}` : ''
    process.stdout.write(`${out}: ${printable(model.model.name)}, ${loaded.length} tensors${fresh}${left}\n`)
  }
  return EXIT.done
}
