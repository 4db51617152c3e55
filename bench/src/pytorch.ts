import { fileURLToPath } from 'node:url'
import { workloadOf, type Case } from './cases.js'
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
  /** PyTorch's version and the mode that won. */
  readonly name: string
  readonly torch: string
  /** Images/s of every mode in the short run that chose. */
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

/** PyTorch at its best: every mode of every Python runs shortly, and the fastest is started to be compared with. */
export async function bestPyTorch(pythons: readonly Python[], one: Case, options: { seconds: number }): Promise<Peer> {
  const modes: Record<string, number> = {}
  let best: { name: string; python: Python; mode: Mode; rate: number } | undefined
  for (const python of pythons) {
    for (const mode of modesFor(one)) {
      const side = await Side.start(commands(python, one, mode))
      const rate = await side.run(options.seconds)
      side.close()
      const name = `${python.torch}, ${mode.name}`
      modes[name] = rate
      if (best === undefined || rate > best.rate) best = { name, python, mode, rate }
    }
  }
  if (best === undefined) throw new Error('no Python was given')
  const side = await Side.start(commands(best.python, one, best.mode))
  return { side, name: best.name, torch: best.python.torch, modes }
}
