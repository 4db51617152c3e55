import { dirname } from 'node:path'
import { createRequire } from 'node:module'
import { parseArgs } from 'node:util'
import * as tf from '@tensorflow/tfjs-core'
import '@tensorflow/tfjs-core/dist/register_all_gradients.js'
import { setThreadsCount, setWasmPaths } from '@tensorflow/tfjs-backend-wasm'
import { answerWindows, type Window } from '../answer-windows.js'

// Trains the MLP of the zoo by TensorFlow.js on WebAssembly: gather, normalise, forward, loss, gradient, SGD with momentum. It has no weight decay, which
// its optimiser does not know.
const option = { type: 'string' } as const
const { values } = parseArgs({ options: { batch: option, features: option, count: option, classes: option, threads: option } })
const [batch, features, count, classes, threads] = [values.batch, values.features, values.count, values.classes, values.threads].map(
  Number
) as [number, number, number, number, number]

setWasmPaths(`${dirname(createRequire(import.meta.url).resolve('@tensorflow/tfjs-backend-wasm/package.json'))}/dist/`)
setThreadsCount(threads)
await tf.setBackend('wasm')
await tf.ready()

const pixels = new Uint8Array(count * features)
for (let i = 0; i < pixels.length; i++) pixels[i] = Math.imul(i, 0x9e3779b1) >>> 24
const labels = Int32Array.from({ length: count }, (_, i) => (i * 7919) % classes)
const widths = [features, 256, 128, classes]
const layers = widths.slice(1).map((units, i) => ({
  w: tf.variable(tf.randomNormal([widths[i]!, units], 0, Math.sqrt(2 / widths[i]!))),
  b: tf.variable(tf.zeros([units]))
}))
const optimiser = tf.train.momentum(0.01, 0.9)
let at = 0

/** The pixels of a batch are gathered by JavaScript, which is faster than the backend's kernel for it. */
function step(): void {
  const x = new Float32Array(batch * features)
  const y = new Int32Array(batch)
  for (let i = 0; i < batch; i++, at = (at + 7919) % count) {
    y[i] = labels[at]!
    for (let k = 0; k < features; k++) x[i * features + k] = (pixels[at * features + k]! - 127.5) / 73.9
  }
  tf.tidy(() => {
    const input = tf.tensor2d(x, [batch, features])
    const target = tf.oneHot(tf.tensor1d(y, 'int32'), classes) as tf.Tensor2D
    optimiser.minimize(() => {
      let value: tf.Tensor2D = input
      layers.forEach(({ w, b }, i) => {
        value = tf.add(tf.matMul(value, w as unknown as tf.Tensor2D), b)
        if (i < layers.length - 1) value = tf.relu(value)
      })
      return tf.losses.softmaxCrossEntropy(target, value)
    })
  })
}

function run(seconds: number): Window {
  const began = performance.now()
  let steps = 0
  while (performance.now() - began < 1000 * seconds) {
    step()
    steps++
  }
  return { work: steps * batch, seconds: (performance.now() - began) / 1000 }
}

run(0.5)
await answerWindows({ version: tf.version_core }, run)
