import type { Command } from 'commander'
import { datasetNames } from '../../index.js'
import type { ExitCode } from '../exit.js'
import { realNumber, wholeNumber } from '../numbers.js'
import { runEval, type EvalFlags } from './eval-command.js'
import { runExport, type ExportFlags } from './export-command.js'
import { runGenerate, type GenerateFlags } from './generate-command.js'
import { addModelFlags } from './model-flags.js'
import { runPredict, type PredictFlags } from './predict-command.js'

const MODEL = 'safetensors, a checkpoint, or a folder of checkpoints'
const MEASURED = `the data set that is measured on: ${datasetNames.join(', ')}, or a folder of images (digits)`

/** The commands that take a trained model's file. */
export function addModelCommands(named: (name: string, description: string) => Command, done: (code: ExitCode) => void): void {
  addModelFlags(named('export', 'Writes a model as ONNX or safetensors.'))
    .argument('<file>', MODEL)
    .requiredOption('--out <file>', 'what is written')
    .option('--format <name>', "onnx or safetensors (as --out's ending says)")
    .option('--no-normalise', 'ONNX only: samples come normalised, and not in 0 to 1')
    .action(async (file: string, flags: ExportFlags) => done(await runExport(file, flags)))
  addModelFlags(named('import', "Makes a safetensors file in PyTorch's names one that describes its model."))
    .argument('<file>', MODEL)
    .requiredOption('--out <file>', 'what is written: safetensors')
    .action(async (file: string, flags: ExportFlags) => done(await runExport(file, { ...flags, format: 'safetensors' })))
  addModelFlags(named('eval', 'Measures a model on the test samples of a data set.'), { data: MEASURED })
    .argument('<file>', MODEL)
    .option('--data-dir <folder>', "where the data set's files lie")
    .action(async (file: string, flags: EvalFlags) => done(await runEval(file, flags)))
  addModelFlags(named('predict', 'Says what a model takes images for: classes and their probabilities.'))
    .argument('<model>', MODEL)
    .argument('<images...>', 'JPEG, PNG, WebP, GIF, AVIF, TIFF or SVG')
    .option('--top <count>', 'how many classes are told', wholeNumber('--top'), 3)
    .action(async (file: string, images: readonly string[], flags: PredictFlags) => done(await runPredict(file, images, flags)))
  addModelFlags(named('generate', 'Lets a model of a text write on from a prompt.'))
    .argument('<model>', MODEL)
    .argument('<prompt>', 'characters that the text has')
    .option('--length <characters>', 'how many are written', wholeNumber('--length'), 200)
    .option('--temperature <number>', 'below 1 surer, above 1 bolder; 0 takes the likeliest', realNumber('--temperature'), 1)
    .option('--seed <number>', 'of what is drawn', wholeNumber('--seed'), 0)
    .action(async (file: string, prompt: string, flags: GenerateFlags) => done(await runGenerate(file, prompt, flags)))
}
