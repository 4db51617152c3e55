import { fileURLToPath } from 'node:url'
import { workloadOf, type Case } from './cases.js'
import { invalidOption } from './errors.js'
import { tunedEnvironment, type Python } from './python.js'
import { Side, type Command } from './side.js'

/** One way in which PyTorch can use the cores. */
interface Mode {
  readonly name: string
  readonly processes: number
  readonly threads: number
  readonly channelsLast: boolean
}

export interface Peer {
  readonly side: Side
  /** PyTorch's version and the fastest mode. */
  readonly name: string
  readonly torch: string
  /** Images per second of every mode, in the short run that chose the fastest one. */
  readonly modes: Readonly<Record<string, number>>
}

const FOLDER = fileURLToPath(new URL('../peers/', import.meta.url))

function modesFor({ model, learners }: Case): readonly Mode[] {
  const counts = [
    { processes: 1, threads: 1, name: '1 thread' },
    { processes: 1, threads: learners, name: `${learners} threads` },
    { processes: learners, threads: 1, name: `${learners} processes` }
  ].filter((mode, index) => index === 0 || learners > 1)
  const orders = model === 'mlp' ? [false] : [false, true]
  return counts.flatMap((count) =>
    orders.map((channelsLast) => ({ ...count, channelsLast, name: count.name + (channelsLast ? ', channels last' : '') }))
  )
}

function commands(python: Python, one: Case, mode: Mode): readonly Command[] {
  const { sample, count, classes } = workloadOf(one.model)
  const settings = {
    model: one.model,
    batch: one.batch,
    count,
    classes,
    threads: mode.threads,
    precision: one.precision
  }
  const args = ['pytorch_train.py', '--sample', ...sample.map(String), '--foreach', ...(mode.channelsLast ? ['--channels-last'] : [])]
  for (const [key, value] of Object.entries(settings)) args.push(`--${key}`, String(value))
  const command = { program: python.program, args, cwd: FOLDER, env: tunedEnvironment(mode.threads) }
  return Array.from({ length: mode.processes }, () => command)
}

/** How PyTorch trains in less memory: each residual block is computed again in the backward pass, what backward needs lies in files, or the batch comes in parts. */
export type Frugality =
  { readonly name: 'checkpoint' } | { readonly name: 'saved-tensors'; readonly folder: string } | { readonly name: 'accumulation' }

/** A process of PyTorch, on as many threads as there are learners. */
export function startFrugal(python: Python, one: Case, frugality: Frugality): Promise<Side> {
  const mode = { name: frugality.name, processes: 1, threads: one.learners, channelsLast: true }
  const how = {
    checkpoint: () => ['--checkpoint'],
    'saved-tensors': () => ['--saved-to', 'folder' in frugality ? frugality.folder : ''],
    accumulation: () => ['--parts', String(PARTS)]
  }[frugality.name]()
  return Side.start(commands(python, one, mode).map((command) => ({ ...command, args: [...command.args, ...how] })))
}

/** Of a batch whose gradients are accumulated. */
const PARTS = 4

/** Windows of each mode. The best one counts, because other work on the machine can only make a mode slower. */
const PASSES = 2

/**
 * The fastest mode of PyTorch, warm and stopped: all modes of all Pythons run in short windows, in turns, so that a disturbance does not affect all windows
 * of one mode.
 */
export async function bestPyTorch(pythons: readonly Python[], one: Case, options: { seconds: number }): Promise<Peer> {
  const entrants: { name: string; torch: string; side: Side; rate: number }[] = []
  for (const python of pythons) {
    for (const mode of modesFor(one)) {
      const side = await Side.start(commands(python, one, mode))
      entrants.push({ name: `${python.torch}, ${mode.name}`, torch: python.torch, side, rate: 0 })
    }
  }
  for (let pass = 0; pass < PASSES; pass++) {
    for (const entrant of entrants) entrant.rate = Math.max(entrant.rate, await entrant.side.run(options.seconds / PASSES))
  }
  entrants.sort((a, b) => b.rate - a.rate)
  const [best, ...others] = entrants
  if (best === undefined) throw invalidOption('pythons', pythons, 'give at least one')
  for (const other of others) other.side.close()
  return { ...best, modes: Object.fromEntries(entrants.map(({ name, rate }) => [name, rate])) }
}
