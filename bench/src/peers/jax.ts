import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { workloadOf, type Case } from '../cases.js'
import { ArbalestError } from '../errors.js'
import { tunedEnvironment, venvPython } from '../python.js'
import { spreads, taskArguments, type Spread, type Way } from './way.js'

const FOLDER = fileURLToPath(new URL('../../peers/', import.meta.url))

/** The models that `jax_train.py` has. */
const MODELS = ['mlp', 'lenet', 'resnet20', 'resnet32', 'gpt']

function environment({ threads }: Spread): Record<string, string> {
  const single = '--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1'
  return { ...tunedEnvironment(threads), JAX_PLATFORMS: 'cpu', ...(threads === 1 && { XLA_FLAGS: single, NPROC: '1' }) }
}

/** The ways of JAX; none for a model that it is not written in. Throws BACKEND_UNAVAILABLE if JAX is not installed. */
export async function jaxWays(one: Case): Promise<readonly Way[]> {
  if (!MODELS.includes(one.model)) return []
  let version: string
  try {
    version = (await promisify(execFile)(venvPython, ['-c', 'import jax; print(jax.__version__)'])).stdout.trim()
  } catch {
    throw new ArbalestError('BACKEND_UNAVAILABLE', `JAX: received ${venvPython}, which cannot import jax; run bench/peers/setup`)
  }
  const { model, batch, precision } = one
  const { sample, count, classes } = workloadOf(model)
  const args = ['jax_train.py', ...taskArguments({ model, batch, precision, sample, count, classes })]
  return spreads(one.learners).map((spread) => {
    const command = { program: venvPython, args, cwd: FOLDER, env: environment(spread) }
    return { peer: 'jax', name: `JAX ${version}, ${spread.name}`, commands: Array.from({ length: spread.processes }, () => command) }
  })
}
