import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { workloadOf, type Case } from '../cases.js'
import { spreads, taskArguments, type Way } from './way.js'

/** Its WebAssembly backend has no kernel for a convolution's weight gradient, nor bfloat16. */
const MODELS = ['mlp']

/** The ways of TensorFlow.js on WebAssembly; none for what it cannot train. */
export async function tfjsWays(one: Case): Promise<readonly Way[]> {
  if (!MODELS.includes(one.model) || one.precision !== 'f32') return []
  const { version } = createRequire(import.meta.url)('@tensorflow/tfjs-core/package.json') as { version: string }
  const { sample, count, classes } = workloadOf(one.model)
  return spreads(one.learners).map(({ processes, threads, name }) => {
    const args = taskArguments({ batch: one.batch, features: sample.reduce((a, b) => a * b, 1), count, classes, threads })
    const command = { program: process.execPath, args: [fileURLToPath(new URL('tfjs-child.js', import.meta.url)), ...args] }
    return { peer: 'tfjs', name: `TensorFlow.js ${version} wasm, ${name}`, commands: Array.from({ length: processes }, () => command) }
  })
}
