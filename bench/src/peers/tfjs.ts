import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import { workloadOf, type Case } from '../cases.js'
import { spreads, taskArguments, type Way } from './way.js'

/** Its WebAssembly backend has no kernel for a convolution's weight gradient, nor bfloat16. */
const MODELS = ['mlp']

const PROGRAM = fileURLToPath(new URL('tfjs-bundle.mjs', import.meta.url))
/** What the bundled CommonJS asks of Node.js. */
const COMMONJS = `import { createRequire as commonRequire } from 'node:module'
const require = commonRequire(import.meta.url), __filename = import.meta.filename, __dirname = import.meta.dirname`

/** Only the packages' modules for bundlers register gradients: their builds for Node.js can predict, and not train. */
async function bundle(): Promise<void> {
  // No other bench needs it, nor does a machine that has a packed checkout.
  const { build } = await import('esbuild')
  await build({
    entryPoints: [fileURLToPath(new URL('tfjs-child.js', import.meta.url))],
    outfile: PROGRAM,
    bundle: true,
    platform: 'node',
    format: 'esm',
    mainFields: ['module', 'main'],
    banner: { js: COMMONJS },
    logLevel: 'error'
  })
}

/** The ways of TensorFlow.js on WebAssembly; none for what it cannot train. */
export async function tfjsWays(one: Case): Promise<readonly Way[]> {
  if (!MODELS.includes(one.model) || one.precision !== 'f32') return []
  await bundle()
  const { version } = createRequire(import.meta.url)('@tensorflow/tfjs-core/package.json') as { version: string }
  const { sample, count, classes } = workloadOf(one.model)
  return spreads(one.learners).map(({ processes, threads, name }) => {
    const args = taskArguments({ batch: one.batch, features: sample.reduce((a, b) => a * b, 1), count, classes, threads })
    const command = { program: process.execPath, args: [PROGRAM, ...args] }
    return { peer: 'tfjs', name: `TensorFlow.js ${version} wasm, ${name}`, commands: Array.from({ length: processes }, () => command) }
  })
}
