import { loadModel } from '../../index.js'
import { EXIT, type ExitCode } from '../exit.js'
import { readingOptions, type ModelFlags } from './model-flags.js'

export interface GenerateFlags extends ModelFlags {
  readonly length: number
  readonly temperature: number
  readonly seed: number
  readonly json?: boolean
}

/** `arbalest generate`: the prompt and what a model of a text writes after it. */
export async function runGenerate(
  file: string,
  prompt: string,
  { length, temperature, seed, json = false, ...flags }: GenerateFlags
): Promise<ExitCode> {
  const model = await loadModel(file, await readingOptions(flags))
  const text = model.generate(prompt, { length, temperature, seed })
  process.stdout.write(json ? `${JSON.stringify({ file, prompt, text })}\n` : `${prompt}${text}\n`)
  return EXIT.done
}
