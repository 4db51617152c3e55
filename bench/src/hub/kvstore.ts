import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Times } from '../hosts/exchange.js'
import type { Laboratory } from '../hosts/laboratory.js'
import { outputOf } from '../hosts/mpi.js'
import { tunedEnvironment } from '../python.js'

const KVSTORE = fileURLToPath(new URL('../../peers/mxnet_kvstore.py', import.meta.url))
const PORT = '9191'

/** A Python that has MXNet with its distributed kvstore. */
export interface Kvstore {
  readonly program: string
  readonly mxnet: string
}

/** That of ARBALEST_MXNET_PYTHON, or the one in PATH; undefined where it has none, with a line that says so. */
export async function kvstore(): Promise<Kvstore | undefined> {
  const program = process.env['ARBALEST_MXNET_PYTHON'] || 'python3'
  try {
    const { stdout } = await promisify(execFile)(program, [KVSTORE, '--version'])
    return { program, mxnet: stdout.trim() }
  } catch (error) {
    const last = (error as Error).message.trim().split('\n').at(-1)
    process.stderr.write(`hub: MXNet's kvstore is left out: ARBALEST_MXNET_PYTHON: received ${program}: ${last}\n`)
    return undefined
  }
}

/** Seconds of each sum of the first hosts at a server on the host behind them, which has the scheduler as well. */
export async function kvstoreSums(
  { program }: Kvstore,
  laboratory: Laboratory,
  { hosts, bytes, turns, seconds }: { readonly hosts: number; readonly bytes: number; readonly turns: number; readonly seconds: number }
): Promise<readonly number[]> {
  const start = (role: string, host: number): Promise<string> => {
    const place = { DMLC_ROLE: role, DMLC_NODE_HOST: laboratory.address(host), DMLC_INTERFACE: 'eth0' }
    const root = { DMLC_PS_ROOT_URI: laboratory.address(hosts), DMLC_PS_ROOT_PORT: PORT }
    const env = { ...tunedEnvironment(1), ...place, ...root, DMLC_NUM_SERVER: '1', DMLC_NUM_WORKER: String(hosts) }
    return outputOf(laboratory.onHost(host, { program, args: [KVSTORE, String(bytes), String(turns)], env }), seconds)
  }
  const roles = ['scheduler', 'server'].map((role) => start(role, hosts))
  // Ranks are dealt out by MXNet: any worker may be the first.
  const told = await Promise.all([...Array.from({ length: hosts }, (_, host) => start('worker', host)), ...roles])
  const line = told
    .join('')
    .split('\n')
    .find((each) => each.startsWith('{'))
  return (JSON.parse(line!) as Times).seconds
}
