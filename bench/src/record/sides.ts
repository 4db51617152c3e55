import { fileURLToPath } from 'node:url'
import { pythonsWithTorch } from '../python.js'
import { Side, type Command } from '../side.js'
import { resultIn, type Runner } from './contest.js'
import type { Settings } from './journal.js'

const OURS = fileURLToPath(new URL('./ours-child.js', import.meta.url))
const PEERS = fileURLToPath(new URL('../../peers/', import.meta.url))
/** Milliseconds that a side may take to warm up, and a run on a GPU; one on a CPU may take hours. */
const WARM = 180_000
const RUN = { cuda: 180_000, cpu: 12 * 3_600_000 } as const

async function startSide(command: Command, deadline: { readonly warm: number; readonly run: number }): Promise<Runner> {
  const side = await Side.start([command], deadline.warm)
  return { run: async (seed) => resultIn(await side.ask(`run ${seed}`, deadline.run)), close: () => side.close() }
}

export function startOurs(settings: Settings): Promise<Runner> {
  const command = { program: process.execPath, args: [OURS, JSON.stringify(settings)] }
  const run = RUN[settings.backend]
  return startSide(command, { warm: settings.backend === 'cuda' ? WARM : run, run })
}

/** The Python whose PyTorch can use the GPU and that has the package airbench; else why there is none, in one sentence. */
export async function airbenchPython(): Promise<{ readonly program: string; readonly torch: string } | string> {
  try {
    const [python] = await pythonsWithTorch()
    const side = await Side.start([{ program: python!.program, args: ['airbench_train.py', '--check'], cwd: PEERS }], WARM)
    side.close()
    return side.greeting['ready'] === true ? python! : String(side.greeting['why'])
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

export function startAirbench(python: string): Promise<Runner> {
  return startSide({ program: python, args: ['airbench_train.py'], cwd: PEERS }, { warm: WARM, run: RUN.cuda })
}
