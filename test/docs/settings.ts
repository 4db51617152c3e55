import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import sharp from 'sharp'
import { saveModel } from '../../src/index.js'
import { gptOfForm } from '../../src/model/zoo/gpt.js'
import { resnetOfForm } from '../../src/model/zoo/imagenet-resnet.js'
import { savedOf } from '../formats/support/saved-of.js'
import { SMALL_SIZE, smallTokenizer } from '../formats/support/small-tokenizer.js'
import { FewDigits } from '../cli/support/few-digits.js'
import { photo, PHOTO_CLASSES } from '../data/support/photos.js'
import { freePort } from '../support/free-port.js'

/** What a page's blocks find where they run, and what is made smaller in them, so that each takes seconds. */
export interface PageSettings {
  readonly prepare?: (folder: string) => void | Promise<void>
  /** A shell command before the first block. */
  readonly first?: string
  readonly smaller?: readonly (readonly [RegExp, string])[]
  /** The blocks train on all digits: `prints` has an accuracy that few cannot reach. */
  readonly allDigits?: true
  /** The blocks run in `blocks.slow.test.ts`. What they do is tested elsewhere too, and here they are compiled. */
  readonly seldom?: true
  /** What the blocks print, all together. */
  readonly prints?: RegExp
}

/** The digits that blocks train on. */
export const few = await FewDigits.make()

/** A job that leaves a trained model, as a reader of the page has one. */
const trained = (model: string, steps: number, file: string) =>
  `import { train } from 'arbalest'
const job = train({ model: '${model}', data: 'mnist', dataDir: '${few.directory}', learners: 1, until: { steps: ${steps} } })
await job.finished
await job.model.save('${file}')
`

/** Two runs of the tests on one machine do not meet at a port. */
const PORT = String(await freePort())
const TABLE_PORT = String(await freePort())
const TEXT_PORT = String(await freePort())
const WRITER_PORT = String(await freePort())

export const settings: Readonly<Record<string, PageSettings>> = {
  'README.md': {
    first: 'mkdir -p ~/data/tinyshakespeare && seq 2000 >~/data/tinyshakespeare/input.txt',
    prepare(folder) {
      writeFileSync(join(folder, 'my-run.ts'), "export default { model: 'mlp', data: 'digits' }\n")
      writeFileSync(
        join(folder, 'houses.csv'),
        ['area,price', ...Array.from({ length: 40 }, (_, i) => `${20 + i * 1.5},${1000 + 51.5 * i}`)].join('\n')
      )
    },
    smaller: [
      [/--context 128/, '--context 32'],
      [/--data cifar-10 --data-dir \S+/, `--data mnist --data-dir '${few.directory}'`]
    ]
  },
  'docs/actors.md': { prints: /^42$/m },
  'docs/layers.md': { smaller: [[/model: '(?:resnet20|lenet)', /g, "model: 'lenet', data: 'digits', learners: 1, until: { steps: 2 }, "]] },
  'docs/checkpoints.md': {
    smaller: [
      [/model: 'lenet', /, "model: 'lenet', data: 'digits', "],
      [/steps: 200/, 'steps: 20'],
      [/period: 50/, 'period: 5']
    ]
  },
  'docs/coming-from-pytorch.md': { smaller: [[/epochs: 2 /, 'steps: 4 ']] },
  'docs/coming-from-tensorflow-js.md': { prints: /^test accuracy (?:1|0\.[89])/m },
  'docs/data.md': {
    prepare: writePhotosAndMasks,
    prints:
      /^test accuracy (?:1|0\.9).*^photographs: 9 share of right pixels: 0\.\d.*^mean squared error 0\.0.*^sin\(1\) is about 0\.[789].*^stripes are told apart: (?:1|0\.9)/ms
  },
  'docs/errors.md': { prints: /^INVALID_OPTION .*batch: received -1/m },
  'docs/runs.md': {
    seldom: true,
    smaller: [
      [/epochs: 30/, 'steps: 20'],
      [/steps: 300 }/, 'steps: 100 }, evaluateEvery: 100'],
      [/until: { epochs: 1 } }\).finished/, 'until: { steps: 20 } }).finished']
    ],
    // Of the program, and of the command line.
    prints: /(?:name: 'arbalest\.run'.*){2}/s
  },
  'docs/text.md': {
    seldom: true,
    first: `mkdir -p ~/data/tinyshakespeare && yes 'ROMEO: It is the east.' | head -n 400 >~/data/tinyshakespeare/input.txt`,
    prepare: (folder) => writeFileSync(join(folder, 'plays.txt'), 'ROMEO: What light is that?\nJULIET: It is the east.\n'.repeat(400)),
    smaller: [
      [/batch: 16 /, 'batch: 16, learners: 1, until: { steps: 2 } '],
      [/length: 400/, 'length: 40'],
      [/context: 128/, 'context: 32']
    ]
  },
  'docs/memory.md': {
    seldom: true,
    prepare: (folder) => writeFileSync(join(folder, 'plays.txt'), 'ROMEO: What light is that?\nJULIET: It is the east.\n'.repeat(400)),
    smaller: [
      [/--data digits/g, few.flags.map((flag) => `'${flag}'`).join(' ')],
      [/--steps 20/g, '--steps 2']
    ]
  },
  'docs/models.md': {
    prepare: async (folder) => {
      await drawImage(join(folder, 'three.png'))
      await drawImage(join(folder, 'seven.jpg'))
      writeFileSync(join(folder, 'digits.js'), trained('lenet', 20, 'digits.safetensors'))
      writeFileSync(join(folder, 'resnet20.js'), trained('resnet20', 2, 'resnet20.safetensors'))
    },
    first: 'node digits.js && node resnet20.js',
    smaller: [
      [/data: 'cifar-10'/, "data: 'digits', learners: 1, until: { steps: 2 }"],
      [/openDataset\('digits'\)/, "openDataset('digits', { samples: 200 })"],
      [/--data digits/, few.flags.map((flag) => `'${flag}'`).join(' ')]
    ]
  },
  'docs/tutorial.md': {
    prepare: async (folder) => {
      for (const name of ['daisy', 'tulip']) {
        mkdirSync(join(folder, 'flowers', name), { recursive: true })
        for (let n = 1; n <= 20; n++) await drawImage(join(folder, 'flowers', name, `${n}.jpg`))
      }
    },
    smaller: [
      [/8080/g, PORT],
      [/--image-size 32/, '--image-size 16'],
      [/--data digits/, few.flags.map((flag) => `'${flag}'`).join(' ')]
    ],
    prints: /(?=.*(?:goes on|resumed|from checkpoint))(?=.*"class":\d)/s
  },
  'docs/clusters.md': { seldom: true },
  'docs/synchronisers.md': { seldom: true },
  'docs/tables.md': {
    seldom: true,
    smaller: [[/8080/g, TABLE_PORT]],
    prints: /(?=.*predicted price)(?=.*\{"prices":\[\d)(?=.*district category)/s
  },
  'docs/text-classification.md': {
    seldom: true,
    smaller: [
      [/8080/g, TEXT_PORT],
      [/epochs: 6 /, 'steps: 4 ']
    ],
    prints: /(?=.*predicted opinion,probability)(?=.*"name":"good")/s
  },
  'docs/huggingface.md': {
    seldom: true,
    prepare: async (folder) => {
      writeFileSync(join(folder, 'plays.txt'), 'ROMEO: What light is that?\nJULIET: It is the east.\n'.repeat(400))
      await saveFolders(folder)
      for (const name of ['daisy', 'tulip']) {
        mkdirSync(join(folder, 'photos', name), { recursive: true })
        for (let n = 1; n <= 20; n++) await drawImage(join(folder, 'photos', name, `${n}.jpg`))
      }
      await drawImage(join(folder, 'one.jpg'))
    },
    smaller: [
      [/8080/g, WRITER_PORT],
      [/ --epochs \d/, ''],
      [/--context 128/, '--context 16']
    ],
    // What is asked of the server comes behind what was written on the command line.
    prints: /ROMEO:.*(?:daisy|tulip) \d.*28 tensors/s
  },
  'docs/write-a-learner.md': { allDigits: true, prints: /^test accuracy 0\.[5-9]/m }
}

/** Folders as transformers would have saved them, of a small GPT-2 and a small ResNet. */
async function saveFolders(folder: string): Promise<void> {
  const vocabulary = SMALL_SIZE
  const form = { activation: 'geluTanh', epsilon: 1e-5, tied: true, embeddingDropout: 0.1, dropout: 0.1 } as const
  const gpt = gptOfForm({ ...form, tokens: vocabulary, context: 64, layers: 2, heads: 2, width: 16, inner: 64 })
  const encoding = { kind: 'language', tokenizer: { json: smallTokenizer() }, vocabulary, length: 64 } as const
  await saveModel(join(folder, 'gpt2/'), savedOf(gpt, { encoding }))
  const stages = [{ channels: 8, blocks: 1 }]
  const resnet = { block: 'basic', stem: 'large', stemChannels: 4, stages, strideInFirst: false, halvesFirstStage: false } as const
  const normalisation = { mean: [0.5, 0.5, 0.5], std: [0.2, 0.2, 0.2] }
  await saveModel(
    join(folder, 'resnet-50/'),
    savedOf(resnetOfForm('resnet', { input: [3, 32, 32], classes: 5 }, resnet), { normalisation })
  )
}

/** An image that is no digit: it is read and classified, whatever it is taken for. */
async function drawImage(file: string): Promise<void> {
  await sharp({ create: { width: 60, height: 40, channels: 3, background: '#205080' } }).toFile(file)
}

/** Ten photographs, and for each a mask of black and white. */
async function writePhotosAndMasks(folder: string): Promise<void> {
  for (const name of ['photos', 'masks']) mkdirSync(join(folder, name))
  for (let i = 0; i < 10; i++) {
    await photo(PHOTO_CLASSES[0]!, i)
      .jpeg()
      .toFile(join(folder, 'photos', `${i}.jpg`))
    await photo(PHOTO_CLASSES[0]!, i)
      .greyscale()
      .threshold(128)
      .png()
      .toFile(join(folder, 'masks', `${i}.png`))
  }
}
