import { invalidOption, unknownName } from '../errors.js'
import { RECIPE, type Recipe } from './recipe.js'
import type { OwnRun } from './run.js'

/** What is to be run. */
export interface Asked extends Omit<OwnRun, 'seed' | 'backend'> {
  /** The best that is there if omitted. */
  readonly backend?: OwnRun['backend']
  /** Runs of each side, with seeds 1, 2, 3 and so on. */
  readonly runs: number
}

const RUNS = 20
const WORDS = ['cpu', 'cuda', 'f32', 'bf16', 'n20', 'epochs12', 'narrow8', 'steps4']

/** What the words of a command ask for. Throws UNKNOWN_NAME, and INVALID_OPTION for two words of one kind. */
export function asked(filters: readonly string[]): Asked {
  const words = filters.flatMap((filter) => filter.split(/\s+/)).filter((word) => word !== '')
  const unknown = words.find((word) => !/^(cpu|cuda|f32|bf16|(n|epochs|narrow|steps)[1-9]\d{0,5})$/.test(word))
  if (unknown !== undefined) throw unknownName('filter', unknown, WORDS)
  const backend = single(words, /^(cpu|cuda)$/) as OwnRun['backend'] | undefined
  const precision = (single(words, /^(f32|bf16)$/) as OwnRun['precision'] | undefined) ?? 'bf16'
  const divisor = number(words, 'narrow') ?? 1
  const epochs = number(words, 'epochs') ?? RECIPE.epochs
  const steps = number(words, 'steps')
  const widths = RECIPE.widths.map((width) => Math.max(1, Math.round(width / divisor)))
  return {
    ...(backend !== undefined && { backend }),
    precision,
    runs: number(words, 'n') ?? RUNS,
    recipe: { ...RECIPE, epochs, widths: widths as unknown as Recipe['widths'] },
    ...(steps !== undefined && { steps })
  }
}

function number(words: readonly string[], name: string): number | undefined {
  const word = single(words, new RegExp(`^${name}\\d+$`))
  return word === undefined ? undefined : Number(word.slice(name.length))
}

function single(words: readonly string[], kind: RegExp): string | undefined {
  const found = [...new Set(words.filter((word) => kind.test(word)))]
  if (found.length > 1) throw invalidOption('record', found.join(' '), 'give one word of a kind')
  return found[0]
}
