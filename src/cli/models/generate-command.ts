import { loadModel } from '../../index.js'
import { withFlagsOf } from '../as-typed.js'
import type { CommonFlags, DefineCommand } from '../command.js'
import { EXIT, type ExitCode } from '../exit.js'
import { realNumber, wholeNumber } from '../flag-values.js'
import { externalLines } from '../text.js'
import { addModelFlags, MODEL_FILE, readingOptions, type ModelFlags } from './model-flags.js'

interface GenerateFlags extends ModelFlags, CommonFlags {
  readonly length: number
  readonly context?: number
  readonly temperature: number
  readonly topK?: number
  readonly topP: number
  readonly stop?: string
  readonly seed: number
}

export const defineGenerate: DefineCommand = (command, { finish }) => {
  addModelFlags(command)
    .argument('<model>', MODEL_FILE)
    .argument('<prompt>', 'the beginning of the text, in characters that the model knows')
    .option('--length <characters>', 'characters to generate, or tokens of a model with a tokenizer', wholeNumber('--length'), 200)
    .option('--context <tokens>', 'positions of the model of a Hugging Face folder (all that it has)', wholeNumber('--context'))
    .option(
      '--temperature <number>',
      'below 1 for likelier characters, above 1 for more variety; 0 takes the likeliest',
      realNumber('--temperature'),
      1
    )
    .option('--top-k <tokens>', 'draw only among this many of the likeliest tokens (all)', wholeNumber('--top-k'))
    .option('--top-p <number>', 'draw only among the likeliest tokens whose probabilities add up to this', realNumber('--top-p'), 1)
    .option('--stop <text>', 'end where this text comes, such as <|endoftext|>')
    .option('--seed <number>', 'seeds the random choice of characters', wholeNumber('--seed'), 0)
    .action(async (file: string, prompt: string, flags: GenerateFlags) =>
      finish(await withFlagsOf(command, runGenerate(file, prompt, flags)))
    )
}

/** `arbalest generate`: prints the prompt and the model's continuation. */
async function runGenerate(
  file: string,
  prompt: string,
  { length, context, temperature, topK, topP, stop, seed, json = false, ...flags }: GenerateFlags
): Promise<ExitCode> {
  const model = await loadModel(file, { ...(await readingOptions(file, flags)), ...(context !== undefined && { context }) })
  const ways = { temperature, topP, ...(topK !== undefined && { topK }), ...(stop !== undefined && { stop }) }
  const text = model.generate(prompt, { length, seed, ...ways })
  process.stdout.write(json ? `${JSON.stringify({ file, prompt, text })}\n` : `${externalLines(prompt)}${externalLines(text)}\n`)
  return EXIT.done
}
