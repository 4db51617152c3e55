import { Option, type Command } from 'commander'
import { ArbalestError, explain, zoo, type Explanation, type ExplainOptions } from '../../index.js'
import { asTyped } from '../as-typed.js'
import { loadConfig } from '../config-file.js'
import { EXIT, type ExitCode } from '../exit-codes.js'
import { realNumber, wholeNumber } from '../numbers.js'
import { addSizeFlags, type SizeFlags } from '../size-flags.js'
import { report } from './report.js'

export interface ExplainFlags extends SizeFlags {
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

MB are what an operator reads and writes. The floor of an operator is its arithmetic at the processor's speed, or its bytes at that of memory or cache,
whichever takes longer: both are measured, or given by --gflops and --gbs. Operators' outputs are those of forward and backward pass in float32 and canonical order,
without padding, scratch and copies, and without the parameters' gradients, which have a vector of their own.`

export function addExplainFlags(command: Command): Command {
  const whole = (flag: string, value: string, text: string) => command.option(`--${flag} <${value}>`, text, wholeNumber(`--${flag}`))
  const real = (flag: string, value: string, text: string) => command.option(`--${flag} <${value}>`, text, realNumber(`--${flag}`))
  command.argument('<model>', `${Object.keys(zoo).join(', ')}, or a config's file`)
  addSizeFlags(command)
  whole('batch', 'samples', 'samples a learner takes in a step (as train has it)')
  command.addOption(
    new Option('--input <shape>', "one sample's shape: 3x224x224, or 784 (as the model's usual data have it)").argParser(shapeOf)
  )
  whole('classes', 'count', 'classes that it tells apart (as in its usual data)')
  whole('learners', 'count', 'learners that train together (1)')
  whole('threads', 'count', 'threads of one learner (1)')
  command.option('--precision <type>', 'f32, or bf16 where the processor has it (f32)')
  command.option('--backend <name>', 'cpu, or reference (cpu)')
  real('gflops', 'number', 'GFLOP/s to reckon with, instead of measuring them')
  real('gbs', 'number', 'GB/s from and to memory to reckon with, instead of measuring them')
  return command.addHelpText('after', NOTES)
}

/** `arbalest explain`: what a model's training step consists of and costs. */
export async function runExplain(model: string, flags: ExplainFlags & { readonly json?: boolean }): Promise<ExitCode> {
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
  // What came as text or from a config is checked by `explain`, as what comes from JavaScript is.
  const told = { ...flags, ...speeds } as Partial<ExplainOptions>
  if (!/[./\\]/.test(model)) return { model, ...(size && { size }), ...told }
  const { model: configured, size: usual, batch, learners, threads, precision, backend } = await loadConfig(model)
  if (configured === undefined)
    throw new ArbalestError('INVALID_OPTION', `config: received ${JSON.stringify(model)}; it names no model: give it one`)
  const sized = { ...usual, ...size }
  return {
    model: configured,
    ...(Object.keys(sized).length > 0 && { size: sized }),
    ...(defined({ batch, learners, threads, precision, backend }) as Partial<ExplainOptions>),
    ...told
  }
}

type Said<Options> = { readonly [Name in keyof Options]?: Exclude<Options[Name], undefined> }

/** What has been said; undefined where nothing has. */
function defined<Options extends object>(options: Options): Said<Options> | undefined {
  const said = Object.entries(options).filter(([, value]) => value !== undefined)
  return said.length > 0 ? (Object.fromEntries(said) as Said<Options>) : undefined
}

function shapeOf(text: string): readonly number[] {
  if (/^[1-9]\d*([x,][1-9]\d*)*$/.test(text)) return text.split(/[x,]/).map(Number)
  throw new ArbalestError('INVALID_OPTION', `--input: received ${JSON.stringify(text)}; use extents joined by x, such as 3x224x224`, {
    data: { parameter: '--input', received: text }
  })
}
