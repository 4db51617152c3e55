import { fileURLToPath } from 'node:url'
import { workloadOf, type Case } from '../cases.js'
import { ArbalestError } from '../errors.js'
import { pythonsWithTorch, tunedEnvironment, type Python } from '../python.js'
import { Side, type Command } from '../side.js'
import { spreads, taskArguments, type Spread, type Way } from './way.js'

const FOLDER = fileURLToPath(new URL('../../peers/', import.meta.url))

/** How PyTorch computes a step. */
interface Mode {
  readonly name: string
  readonly compile?: 'default' | 'max-autotune'
  readonly channelsLast: boolean
}

function modesFor(model: string): readonly Mode[] {
  // The orders in memory differ for images alone.
  const orders = model === 'mlp' || workloadOf(model).sample.length === 1 ? [false] : [false, true]
  return orders.flatMap((channelsLast): readonly Mode[] => {
    const order = channelsLast ? ', channels last' : ''
    return [
      { name: `eager${order}`, channelsLast },
      { name: `compiled${order}`, compile: 'default', channelsLast },
      { name: `compiled with max-autotune${order}`, compile: 'max-autotune', channelsLast }
    ]
  })
}

function commands(python: Python, one: Case, mode: Omit<Mode, 'name'>, { processes, threads }: Omit<Spread, 'name'>): readonly Command[] {
  const { model, batch, precision } = one
  const { sample, count, classes, tokens } = workloadOf(model)
  const args = [
    'pytorch_train.py',
    ...taskArguments({ model, batch, precision, sample, count, classes, threads, optimiser: 'fused', ...(tokens && { tokens }) }),
    ...(mode.compile === undefined ? [] : ['--compile', mode.compile]),
    ...(mode.channelsLast ? ['--channels-last'] : [])
  ]
  const command = { program: python.program, args, cwd: FOLDER, env: tunedEnvironment(threads) }
  return Array.from({ length: processes }, () => command)
}

/** The ways of PyTorch 2. Throws BACKEND_UNAVAILABLE if there is none: an older one has no compiler, and is no measure of what a user can have. */
export async function pytorchWays(one: Case): Promise<readonly Way[]> {
  const [python] = await pythonsWithTorch()
  if (python === undefined || Number.parseInt(python.torch) < 2)
    throw new ArbalestError(
      'BACKEND_UNAVAILABLE',
      `PyTorch: received version ${python?.torch}; run bench/peers/setup, which installs PyTorch 2`
    )
  return modesFor(one.model).flatMap((mode) =>
    spreads(one.learners).map((spread) => ({
      peer: 'pytorch' as const,
      name: `PyTorch ${python.torch}, ${mode.name}, ${spread.name}`,
      commands: commands(python, one, mode, spread)
    }))
  )
}

/** How PyTorch trains in less memory: each residual block is computed again in the backward pass, what backward needs lies in files, or the batch comes in parts. */
export type Frugality =
  { readonly name: 'checkpoint' } | { readonly name: 'saved-tensors'; readonly folder: string } | { readonly name: 'accumulation' }

/** A process of PyTorch, on as many threads as there are learners. */
export function startFrugal(python: Python, one: Case, frugality: Frugality): Promise<Side> {
  const how = {
    checkpoint: () => ['--checkpoint'],
    'saved-tensors': () => ['--saved-to', 'folder' in frugality ? frugality.folder : ''],
    accumulation: () => ['--parts', String(PARTS)]
  }[frugality.name]()
  const all = commands(python, one, { channelsLast: true }, { processes: 1, threads: one.learners })
  return Side.start(all.map((command) => ({ ...command, args: [...command.args, ...how] })))
}

/** Of a batch whose gradients are accumulated. */
const PARTS = 4
