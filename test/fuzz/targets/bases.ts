import { compile } from '../../../src/compiler/compile.js'
import type { OptimiserAttributes } from '../../../src/compiler/optimiser.js'
import type { EngineBackend, Program } from '../../../src/compiler/program.js'
import type { DatasetSpec } from '../../../src/engine/contract.js'
import { loweringBackend } from '../../../src/engine/lowering.js'
import { engine } from '../../../src/engine/native.js'
import {
  avgPool2d,
  batchNorm2d,
  causalSelfAttention,
  concat,
  conv2d,
  defineModel,
  dropout,
  embedding,
  flatten,
  gelu,
  layerNorm,
  linear,
  localResponseNorm,
  maxPool2d,
  positions,
  relu,
  residual,
  tanh
} from '../../../src/model/layers.js'
import type { Model } from '../../../src/model/model.js'

/** A program as the compiler makes it, with samples that fit. */
export interface Base {
  readonly program: Program
  readonly data: DatasetSpec
}

const COUNT = 6
const CLASSES = 5
const labels = (each = 1): Int32Array => Int32Array.from({ length: COUNT * each }, (_, i) => (i * 3) % CLASSES)
const pixels = (each: number): Uint8Array => Uint8Array.from({ length: COUNT * each }, (_, i) => (i * 37) % 256)

const VECTORS: DatasetSpec = { count: COUNT, sample: [12], samples: pixels(12), labels: labels(), classes: CLASSES }
const IMAGES: DatasetSpec = { count: COUNT, sample: [3, 8, 8], samples: pixels(192), labels: labels(), classes: CLASSES }
const TOKENS: DatasetSpec = { count: COUNT, sample: [4], samples: labels(5), stride: 4, classes: CLASSES }

const MODELS: readonly [Model, DatasetSpec][] = [
  [defineModel({ name: 'vectors', input: [12], layers: [linear(16), relu(), dropout(0.5), linear(CLASSES)] }), VECTORS],
  [
    defineModel({
      name: 'images',
      input: [3, 8, 8],
      layers: [
        conv2d(8, 3, { padding: 1 }),
        batchNorm2d(),
        relu(),
        localResponseNorm(3),
        residual({ body: [conv2d(8, 3, { padding: 1 }), tanh()] }),
        concat([[maxPool2d(2)], [avgPool2d(2)]]),
        flatten(),
        linear(CLASSES)
      ]
    }),
    IMAGES
  ],
  [
    defineModel({
      name: 'tokens',
      input: [4],
      layers: [embedding(CLASSES, 8), positions(), linear(24), causalSelfAttention(2), layerNorm(), gelu(), linear(CLASSES)]
    }),
    TOKENS
  ]
]

const OPTIMISERS: readonly OptimiserAttributes[] = [
  { momentum: 0.9, weightDecay: 1e-4 },
  { beta1: 0.9, beta2: 0.999, epsilon: 1e-8, weightDecay: 0 }
]

/** Training steps of three kinds of model on both backends, under two optimisers. */
export function bases(): Base[] {
  return (['reference', 'cpu'] satisfies EngineBackend[]).flatMap((backend) =>
    MODELS.map(([model, data], i) => {
      const isImage = model.input.length === 3
      const load = { padding: isImage ? 1 : 0, border: 'reflect' as const, flip: isImage, mean: [], std: [], shuffled: true }
      const optimiser = OPTIMISERS[i % OPTIMISERS.length]!
      const program = compile(model, loweringBackend(engine, backend), { batch: 2, mode: 'train', precision: 'f32', load, optimiser })
      return { program, data }
    })
  )
}
