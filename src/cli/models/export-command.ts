import { modelFile, readModel, saveModel, type ModelFormat } from '../../index.js'
import { withFlagsOf } from '../as-typed.js'
import type { CommonFlags, DefineCommand } from '../command.js'
import { EXIT, type ExitCode } from '../exit.js'
import { invalidFlag } from '../flag-values.js'
import { external } from '../text.js'
import { addModelFlags, MODEL_FILE, readingOptions, type ModelFlags } from './model-flags.js'

interface ExportFlags extends ModelFlags, CommonFlags {
  readonly out: string
  readonly format?: string
  readonly normalise?: boolean
}

export const defineExport: DefineCommand = (command, { finish }) => {
  addModelFlags(command)
    .argument('<file>', MODEL_FILE)
    .requiredOption('--out <file>', 'the file to write, or the folder')
    .option('--format <name>', 'onnx, safetensors or huggingface, a folder for transformers (by the end of --out: .onnx, .safetensors, /)')
    .option('--no-normalise', 'ONNX only: the network takes normalised samples, not samples in 0 to 1')
    .action(async (file: string, flags: ExportFlags) => finish(await withFlagsOf(command, runExport(file, flags), { path: 'out' })))
}

export const defineImport: DefineCommand = (command, { finish }) => {
  addModelFlags(command)
    .argument('<file>', MODEL_FILE)
    .requiredOption('--out <file>', 'the safetensors file to write')
    .action(async (file: string, flags: ExportFlags) => {
      checkIsSafetensors(flags.out)
      finish(await withFlagsOf(command, runExport(file, { ...flags, format: 'safetensors' }), { path: 'out' }))
    })
}

/** Throws INVALID_OPTION for a name that says another format than the file would have. */
function checkIsSafetensors(out: string): void {
  if (out.endsWith('.onnx') || out.endsWith('/'))
    throw invalidFlag('--out', out, 'import writes safetensors: end it in .safetensors, or use arbalest export for other formats')
}

/** `arbalest export` and `arbalest import`: reads a model's file and writes ONNX, or safetensors that describes its model. */
async function runExport(file: string, { out, format, normalise, json = false, ...flags }: ExportFlags): Promise<ExitCode> {
  const { best, ...reading } = await readingOptions(file, flags)
  const { loaded, initialised, unused, ...model } = await readModel(await modelFile(file, { best }), reading)
  await saveModel(out, model, {
    ...(format !== undefined && { format: format as ModelFormat }),
    ...(normalise !== undefined && { normalise })
  })
  if (json) process.stdout.write(`${JSON.stringify({ file: out, model: model.model.name, loaded, initialised, unused })}\n`)
  else {
    const fresh = initialised.length > 0 ? `; initialised: ${external(initialised.join(', '))}` : ''
    const ignored = unused.length > 0 ? `; ignored: ${external(unused.join(', '))}` : ''
    process.stdout.write(`${external(out)}: ${external(model.model.name)}, ${loaded.length} tensors${fresh}${ignored}\n`)
  }
  return EXIT.done
}
