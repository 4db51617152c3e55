import { Option } from 'commander'
import { ArbalestError, explain, zoo, type Explanation, type ExplainOptions } from '../../index.js'
import { asTyped } from '../as-typed.js'
import { loadConfig } from '../config-file.js'
import type { CommonFlags, DefineCommand } from '../command.js'
import { EXIT, type ExitCode } from '../exit.js'
import { realNumber, wholeNumber } from '../flag-values.js'
import { addSizeFlags, type SizeFlags } from '../size-flags.js'
import { report } from './report.js'

interface ExplainFlags extends SizeFlags {
  readonly batch?: number
  readonly input?: readonly number[]
  readonly classes?: number
  readonly learners?: number
  readonly threads?: number
  readonly precision?: string
  readonly backend?: string
  readonly gflops?: number
  readonly gbs?: number
}

const NOTES = `
Examples:
  arbalest explain resnet50 --batch 32
  arbalest explain vgg16 --batch 256 --input 3x32x32 --learners 2
  arbalest explain gpt --input 256 --layers 6 --heads 6 --width 384
  arbalest explain my-run.ts --json                  the model, batch and learners of a config

MB are the bytes that an operator reads and writes. The time floor of an operator is the longer of two times: its arithmetic at the processor's speed, and its bytes
at the speed of memory or cache. Both speeds are measured, or given by --gflops and --gbs. Operators' outputs are those of the forward and the backward pass
in float32 and canonical order, without padding, scratch memory and copies, and without the parameters' gradients.`

export const defineExplain: DefineCommand = (command, { finish }) => {
  const whole = (flag: string, value: string, text: string) => command.option(`--${flag} <${value}>`, text, wholeNumber(`--${flag}`))
  const real = (flag: string, value: string, text: string) => command.option(`--${flag} <${value}>`, text, realNumber(`--${flag}`))
  command.argument('<model>', `${Object.keys(zoo).join(', ')}, or a config's file`)
  addSizeFlags(command)
  whole('batch', 'samples', 'samples of a learner in a step (as for train)')
  command.addOption(
    new Option('--input <shape>', "one sample's shape: 3x224x224, or 784 (that of the model's usual data set)").argParser(shapeOf)
  )
  whole('classes', 'count', 'classes of the classifier (those of its usual data set)')
  whole('learners', 'count', 'learners that train together (1)')
  whole('threads', 'count', 'threads of one learner (1)')
  command.option('--precision <type>', 'f32, or bf16 where the processor has it (f32)')
  command.option('--backend <name>', 'cpu, or reference (cpu)')
  real('gflops', 'number', 'GFLOP/s of the processor, instead of measuring them')
  real('gbs', 'number', 'GB/s of memory, instead of measuring them')
  command
    .addHelpText('after', NOTES)
    .action(async (model: string, { stack: _, ...flags }: ExplainFlags & CommonFlags) => finish(await runExplain(model, flags)))
}

/** `arbalest explain`: shows the operators of a model's training step and their cost. */
async function runExplain(model: string, flags: ExplainFlags & { readonly json?: boolean }): Promise<ExitCode> {
  const { json = false, ...given } = flags
  const explained = await explainAsTyped(model, given)
  process.stdout.write(
    json
      ? `${JSON.stringify({ event: 'explained', ...explained })}\n`
      : `${report(explained, { colour: process.stdout.isTTY && process.env['NO_COLOR'] === undefined }).join('\n')}\n`
  )
  return EXIT.done
}

async function explainAsTyped(model: string, flags: ExplainFlags): Promise<Explanation> {
  const options = await optionsOf(model, flags)
  try {
    return await explain(options)
  } catch (error) {
    throw asTyped(error, flags, undefined)
  }
}

async function optionsOf(model: string, { gflops, gbs, layers, heads, width, dropout, ...flags }: ExplainFlags): Promise<ExplainOptions> {
  const speeds = {
    ...(gflops !== undefined && { flopsPerSecond: 1e9 * gflops }),
    ...(gbs !== undefined && { bytesPerSecond: 1e9 * gbs })
  }
  const size = defined({ layers, heads, width, dropout })
  // `explain` checks these values, as it does for callers in JavaScript.
  const given = { ...flags, ...speeds } as Partial<ExplainOptions>
  if (!/[./\\]/.test(model)) return { model, ...(size && { size }), ...given }
  const { model: configured, size: usual, batch, learners, threads, precision, backend } = await loadConfig(model)
  if (configured === undefined)
    throw new ArbalestError('INVALID_OPTION', `config: received ${JSON.stringify(model)}; it has no model: add one`)
  const sized = { ...usual, ...size }
  return {
    model: configured,
    ...(Object.keys(sized).length > 0 && { size: sized }),
    ...(defined({ batch, learners, threads, precision, backend }) as Partial<ExplainOptions>),
    ...given
  }
}

type Defined<Options> = { readonly [Name in keyof Options]?: Exclude<Options[Name], undefined> }

/** The options that are not undefined, or undefined if there are none. */
function defined<Options extends object>(options: Options): Defined<Options> | undefined {
  const entries = Object.entries(options).filter(([, value]) => value !== undefined)
  return entries.length > 0 ? (Object.fromEntries(entries) as Defined<Options>) : undefined
}

function shapeOf(text: string): readonly number[] {
  if (/^[1-9]\d*([x,][1-9]\d*)*$/.test(text)) return text.split(/[x,]/).map(Number)
  throw new ArbalestError('INVALID_OPTION', `--input: received ${JSON.stringify(text)}; use sizes joined by x, such as 3x224x224`, {
    data: { parameter: '--input', received: text }
  })
}
