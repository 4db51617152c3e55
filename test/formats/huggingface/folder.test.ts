import { expect } from 'chai'
import { existsSync } from 'node:fs'
import { copyFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { readFolder } from '../../../src/formats/huggingface/folder.js'
import { checkFolderWeights, firstFolderWeights } from '../../../src/formats/huggingface/read-folder-model.js'
import { readSafetensors, writeSafetensors } from '../../../src/formats/safetensors.js'
import { gptOfForm } from '../../../src/model/zoo/gpt.js'
import { resnetOfForm } from '../../../src/model/zoo/imagenet-resnet.js'
import { modelNamed } from '../../../src/model/zoo/index.js'
import { vitOfForm } from '../../../src/model/zoo/vit.js'
import { datasetFromArrays, train, type Dataset } from '../../../src/index.js'
import { settingsOf } from '../../../src/options/settings.js'
import type { Tensor } from '../../../src/formats/tensor.js'
import { Folder } from '../../data/support/files.js'
import { refused } from '../../support/codes.js'
import { savedOf } from '../support/saved-of.js'
import { SMALL_SIZE, SMALL_VOCABULARY, smallTokenizer } from '../support/small-tokenizer.js'
import { readModel, saveModel } from '../../../src/formats/model-files.js'

const FORM = {
  context: 8,
  layers: 2,
  heads: 2,
  width: 8,
  inner: 20,
  activation: 'gelu',
  epsilon: 1e-3,
  tied: false,
  embeddingDropout: 0.2,
  dropout: 0.1
} as const
const GPT = gptOfForm({ ...FORM, tokens: SMALL_SIZE + 3 })

const STAGES = [
  { channels: 8, blocks: 2 },
  { channels: 16, blocks: 1 }
]
const RESNET = resnetOfForm(
  'resnet',
  { input: [3, 32, 32], classes: 3 },
  {
    block: 'bottleneck',
    stem: 'large',
    stemChannels: 4,
    stages: STAGES,
    strideInFirst: true,
    halvesFirstStage: true
  }
)

const VIT = { layers: 1, heads: 2, width: 8, inner: 16, patch: 4, tanh: false, epsilon: 1e-6, dropout: 0 } as const

const LANGUAGE = { kind: 'language', tokenizer: { json: smallTokenizer() }, vocabulary: SMALL_SIZE + 3, length: 8 } as const

describe('A Hugging Face folder', function () {
  this.timeout(60_000)
  let folder: Folder
  let path: string
  beforeEach(async () => {
    folder = await Folder.make()
    path = join(folder.path, 'model')
    await saveModel(path, savedOf(GPT, { encoding: LANGUAGE }), { format: 'huggingface' })
  })
  afterEach(() => folder[Symbol.asyncDispose]())

  it('gives back a GPT with its weights and its tokenizer', async () => {
    const { model, weights, encoding, initialised, unused } = await readModel(path)
    const { tokenizer, ...rest } = encoding as typeof LANGUAGE
    expect(weights).to.deep.equal(savedOf(GPT).weights)
    expect({ ...rest, tokenizer: { json: tokenizer.json } }).to.deep.equal(LANGUAGE)
    expect([model.layers, initialised, unused]).to.deep.equal([GPT.layers, [], []])
  })

  it('is read with its tokenizer as that is, also one that is not of the kind of GPT-2', async () => {
    const config = JSON.parse(await readFile(join(path, 'tokenizer_config.json'), 'utf8')) as object
    // The class GPT2Tokenizer of transformers splits texts in its own way, whatever tokenizer.json says.
    expect(config).to.include({ tokenizer_class: 'PreTrainedTokenizerFast', model_max_length: 8, eos_token: '<|endoftext|>' })
  })

  it('says which tokens begin and end a text, those of its tokenizer', async () => {
    const ends = async (tokenizer: { readonly json: string; readonly config?: string }) => {
      await rm(path, { recursive: true })
      await saveModel(`${path}/`, savedOf(GPT, { encoding: { ...LANGUAGE, tokenizer } }))
      const { bos_token_id, eos_token_id } = JSON.parse(await readFile(join(path, 'config.json'), 'utf8')) as Readonly<
        Record<string, unknown>
      >
      return [bos_token_id, eos_token_id]
    }
    const end = SMALL_SIZE - 1
    const json = smallTokenizer({
      added_tokens: [
        { id: end, content: '<|endoftext|>' },
        { id: end + 1, content: '<s>' }
      ]
    })
    expect(await ends({ json })).to.deep.equal([end, end])
    const config = (said: object) => ({ json, config: JSON.stringify(said) })
    expect(await ends(config({ bos_token: '<s>', eos_token: { content: 'the' } }))).to.deep.equal([end + 1, SMALL_VOCABULARY['the']])
    expect(await ends(config({ bos_token: null, eos_token: '</s>' }))).to.deep.equal([end, null])
    expect(await ends({ json: smallTokenizer({ added_tokens: [] }) })).to.deep.equal([null, null])
  })

  it('may have the embedding twice where the head is tied to it, but no other head', async () => {
    const tied = gptOfForm({ ...FORM, tied: true, tokens: SMALL_SIZE })
    await saveModel(`${path}-tied/`, savedOf(tied))
    const file = join(`${path}-tied`, 'model.safetensors')
    const { tensors } = await readSafetensors(file)
    const embedding = tensors.get('transformer.wte.weight')!
    const withHead = (head: Tensor) => writeSafetensors(file, [...tensors, ['lm_head.weight', head] as const], { sync: false })
    await withHead(embedding)
    expect((await readModel(`${path}-tied`)).weights).to.deep.equal(savedOf(tied).weights)
    await withHead({ ...embedding, data: Float32Array.from(embedding.data as Float32Array, (value, i) => (i === 9 ? 1 : value)) })
    await refused('DATA_CORRUPT', () => readModel(`${path}-tied`), 'lm_head.weight', 'transformer.wte.weight', 'tie_word_embeddings: false')
  })

  it('has the sizes that its config gives by their other names', async () => {
    const file = join(path, 'config.json')
    const { n_embd, n_positions, n_head, n_layer, ...rest } = JSON.parse(await readFile(file, 'utf8')) as Readonly<Record<string, unknown>>
    const sizes = { hidden_size: n_embd, max_position_embeddings: n_positions, num_attention_heads: n_head, num_hidden_layers: n_layer }
    await writeFile(file, JSON.stringify({ ...rest, n_head: 4, ...sizes }))
    expect((await readModel(path)).model).to.deep.equal(GPT)
  })

  it('names no tokens around a text, and no classes, where a GPT has no tokenizer', async () => {
    await rm(path, { recursive: true })
    await saveModel(`${path}/`, savedOf(GPT))
    const config = JSON.parse(await readFile(join(path, 'config.json'), 'utf8')) as object
    // Those of GPT-2's own vocabulary if they were left out.
    expect(config).to.include({ bos_token_id: null, eos_token_id: null })
    expect(config).to.not.have.property('id2label')
  })

  it("has GPT-2's names, and linear weights as (in, out)", async () => {
    const { tensors } = await readSafetensors(join(path, 'model.safetensors'))
    const theirs = tensors.get('transformer.h.1.mlp.c_fc.weight')!
    const { shape, data } = savedOf(GPT).weights['block1.feedForward.expand.weight']!
    expect([theirs.shape, shape]).to.deep.equal([
      [8, 20],
      [20, 8]
    ])
    expect(theirs.data[3 * 20 + 7]).to.equal(data[7 * 8 + 3])
    expect([...tensors.keys()].filter((name) => !name.includes('.h.')).sort()).to.deep.equal(
      ['lm_head.weight', ...['ln_f.bias', 'ln_f.weight', 'wpe.weight', 'wte.weight'].map((name) => `transformer.${name}`)].sort()
    )
  })

  it('gives back a ResNet with its statistics, its classes and how it takes pixels', async () => {
    const saved = savedOf(RESNET, { classNames: ['cat', 'dog', 'emu'], normalisation: { mean: [0.1, 0.2, 0.3], std: [0.5, 0.6, 0.7] } })
    await saveModel(`${path}-images/`, saved)
    const { model, weights, statistics, classNames, normalisation } = await readModel(`${path}-images`)
    expect({ layers: model.layers, input: model.input, weights, statistics, classNames, normalisation }).to.deep.equal({
      layers: RESNET.layers,
      input: [3, 32, 32],
      weights: saved.weights,
      statistics: saved.statistics,
      classNames: saved.classNames,
      normalisation: saved.normalisation
    })
    const { tensors } = await readSafetensors(join(`${path}-images`, 'model.safetensors'))
    const norms = [...tensors.keys()].filter((name) => name.endsWith('.running_mean'))
    for (const name of norms) expect(tensors.get(name.replace('running_mean', 'num_batches_tracked'))?.shape, name).to.deep.equal([])
    expect(norms).to.have.length(Object.keys(saved.statistics).length / 2)
  })

  it('says to what length images are scaled before the crop, unless their size is given', async () => {
    await saveModel(`${path}-images/`, savedOf(RESNET, { classNames: ['cat', 'dog', 'emu'] }))
    const file = join(`${path}-images`, 'preprocessor_config.json')
    const preprocessor = JSON.parse(await readFile(file, 'utf8')) as object
    await writeFile(file, JSON.stringify({ ...preprocessor, size: { shortest_edge: 40 }, do_center_crop: true, crop_size: 32 }))
    const scaled = (images?: { readonly size?: number; readonly resize?: number }) => {
      const { size, resize } = settingsOf({ initial: `${path}-images`, data: `${folder.path}/`, ...(images && { images }) }).images
      return [size, resize]
    }
    expect([scaled(), scaled({ size: 32 }), scaled({ resize: 44 })]).to.deep.equal([
      [32, 40],
      [32, 40],
      [32, 44]
    ])
    expect([scaled({ size: 48 }), scaled({ size: 16 }), scaled({ size: 48, resize: 50 })]).to.deep.equal([
      [48, undefined],
      [16, undefined],
      [48, 50]
    ])
    await refused('INVALID_OPTION', () => scaled({ size: 48, resize: 40 }), 'images.resize: received 40')
  })

  it('says how images are cropped, in the ratio of its own pixels', async () => {
    await saveModel(`${path}-images/`, savedOf(RESNET))
    const preprocessor = (content: object) => writeFile(join(`${path}-images`, 'preprocessor_config.json'), JSON.stringify(content))
    const encoding = async () => (await readModel(`${path}-images`)).encoding
    // As ConvNextImageProcessor of transformers computes it, which is that of a ResNet whose file names none.
    await preprocessor({ size: 32 })
    expect(await encoding()).to.deep.equal({ kind: 'image', resize: 36 })
    await preprocessor({ size: 32, crop_pct: 1 })
    expect(await encoding()).to.deep.equal({ kind: 'image', resize: 32 })
    await preprocessor({ size: { shortest_edge: 40 }, crop_size: 32, do_center_crop: true })
    expect(await encoding()).to.deep.equal({ kind: 'image', resize: 40 })
    await preprocessor({ size: { shortest_edge: 224 }, crop_pct: 0.9 })
    expect(await encoding()).to.deep.equal({ kind: 'image', resize: 248 })
    await preprocessor({ size: { shortest_edge: 384 }, crop_pct: 0.875 })
    expect(await encoding()).to.deep.equal({ kind: 'image', resize: 384, stretch: true })
    const stretched = { kind: 'image', resize: 32, stretch: true }
    for (const type of ['ViTImageProcessor', 'BlipImageProcessor']) {
      await preprocessor({ image_processor_type: type, size: { height: 32, width: 32 }, image_mean: [0], image_std: [1] })
      expect(await encoding()).to.deep.equal(stretched)
    }
    await preprocessor({ feature_extractor_type: 'ViTFeatureExtractor', size: 32 })
    expect(await encoding()).to.deep.equal(stretched)
    await preprocessor({ feature_extractor_type: 'DeiTFeatureExtractor', size: 40, crop_size: 32 })
    expect(await encoding()).to.deep.equal({ ...stretched, resize: 40 })
    expect(settingsOf({ initial: `${path}-images`, data: `${folder.path}/` }).images).to.include({ size: 32, resize: 40, stretch: true })
    await preprocessor({ image_processor_type: 'CLIPImageProcessor', size: { shortest_edge: 40 }, crop_size: 32 })
    expect(await encoding()).to.deep.equal({ kind: 'image', resize: 40 })
    expect(settingsOf({ initial: `${path}-images`, data: `${folder.path}/` }).images.stretch).to.equal(undefined)
    await preprocessor({})
    expect(await encoding()).to.equal(undefined)
  })

  it('says to others how images are cropped, and reads it again', async () => {
    const preprocessor = async (saved: Parameters<typeof savedOf>[1]) => {
      await rm(`${path}-images`, { recursive: true, force: true })
      await saveModel(`${path}-images/`, savedOf(RESNET, saved))
      const { encoding } = await readModel(`${path}-images`)
      return [JSON.parse(await readFile(join(`${path}-images`, 'preprocessor_config.json'), 'utf8')) as object, encoding] as const
    }
    const [cropped, encoding] = await preprocessor({ encoding: { kind: 'image', resize: 36.6 } })
    expect(cropped).to.include({ image_processor_type: 'CLIPImageProcessor', do_resize: true, do_center_crop: true, do_convert_rgb: true })
    expect(cropped).to.deep.include({ size: { shortest_edge: 37 }, crop_size: { height: 32, width: 32 } })
    expect(encoding).to.deep.equal({ kind: 'image', resize: 37 })
    for (const [resize, type] of [
      [32, 'ViTImageProcessor'],
      [40, 'DeiTImageProcessor']
    ] as const) {
      const stretched = { kind: 'image', resize, stretch: true } as const
      const [written, read] = await preprocessor({ encoding: stretched })
      expect(written).to.deep.include({ image_processor_type: type, size: { height: resize, width: resize } })
      expect(read).to.deep.equal(stretched)
    }
    const [whole] = await preprocessor({})
    expect(whole).to.deep.include({ size: { shortest_edge: 32 }, crop_size: { height: 32, width: 32 } })
  })

  it('has the channels of its config, and pixels in the range of its preprocessor', async () => {
    const form = { block: 'basic', stem: 'large', stemChannels: 4, stages: STAGES, strideInFirst: false, halvesFirstStage: false } as const
    const grey = vitOfForm('vit', { input: [1, 8, 8], classes: 3 }, VIT)
    await saveModel(`${path}-images/`, savedOf(grey))
    await saveModel(`${path}-resnet/`, savedOf(resnetOfForm('resnet', { input: [1, 32, 32], classes: 3 }, form)))
    for (const [each, size] of [
      ['images', 8],
      ['resnet', 32]
    ] as const) {
      const file = join(`${path}-${each}`, 'preprocessor_config.json')
      const read = async (content: object) => {
        await writeFile(file, JSON.stringify({ size, ...content }))
        return await readModel(`${path}-${each}`)
      }
      const images = () => {
        const { channels, mean, std } = settingsOf({ initial: `${path}-${each}`, data: `${folder.path}/` }).images
        return { channels, mean, std }
      }
      expect((await read({ do_normalize: false })).model.input).to.deep.equal([1, size, size])
      expect(images()).to.deep.equal({ channels: 1, mean: [0], std: [1] })
      const scaled = { rescale_factor: 1 / 127.5, image_mean: [1], image_std: [0.5] }
      expect((await read(scaled)).normalisation).to.deep.equal({ mean: [0.5], std: [0.25] })
      expect((await read({ do_rescale: false, image_mean: [51], image_std: [255] })).normalisation).to.deep.equal({ mean: [0.2], std: [1] })
      expect((await read({ rescale_factor: 1 / 127.5, do_normalize: false })).normalisation).to.deep.equal({ mean: [], std: [0.5] })
      await refused('DATA_CORRUPT', () => read({ image_mean: [0.5, 0.5, 0.5] }), 'image_mean', '1 channel')
      await rm(file)
      expect((await readModel(`${path}-${each}`)).model.input[0]).to.equal(1)
    }
  })

  it('normalises pixels as its processor does where its preprocessor says no mean and std', async () => {
    await saveModel(`${path}-images/`, savedOf(RESNET))
    const normalisation = async (content: object) => {
      await writeFile(join(`${path}-images`, 'preprocessor_config.json'), JSON.stringify({ size: 32, ...content }))
      return (await readModel(`${path}-images`)).normalisation
    }
    const half = { mean: [0.5, 0.5, 0.5], std: [0.5, 0.5, 0.5] }
    expect(await normalisation({})).to.deep.equal(half)
    expect(await normalisation({ feature_extractor_type: 'ViTFeatureExtractor', image_std: [1] })).to.deep.equal({
      ...half,
      std: [1, 1, 1]
    })
    expect(await normalisation({ image_processor_type: 'ConvNextImageProcessorFast' })).to.deep.equal(half)
    expect(await normalisation({ image_processor_type: 'CLIPImageProcessor' })).to.deep.equal({
      mean: [0.48145466, 0.4578275, 0.40821073],
      std: [0.26862954, 0.26130258, 0.27577711]
    })
    expect(await normalisation({ do_normalize: false })).to.deep.equal({ mean: [], std: [] })
    await refused('DATA_CORRUPT', () => normalisation({ image_processor_type: 'BitImageProcessor' }), 'image_mean', 'do_normalize: false')
  })

  it('may have its weights in shards', async () => {
    await shard(path)
    expect((await readModel(path)).weights).to.deep.equal(savedOf(GPT).weights)
  })

  it('says whether its outputs are classes, several answers or numbers, and is trained as its data says', async () => {
    const images = `${path}-images`
    const vit = vitOfForm('vit', { input: [3, 8, 8], classes: 3 }, VIT)
    const file = join(images, 'config.json')
    const problem = async () => (JSON.parse(await readFile(file, 'utf8')) as { problem_type: unknown }).problem_type
    for (const [loss, type] of [
      ['softmaxCrossEntropy', 'single_label_classification'],
      ['binaryCrossEntropy', 'multi_label_classification'],
      ['meanSquaredError', 'regression']
    ] as const) {
      await rm(images, { recursive: true, force: true })
      await saveModel(`${images}/`, savedOf({ ...vit, loss }))
      expect([await problem(), (await readModel(images)).model.loss]).to.deep.equal([type, loss])
    }
    const config = async (changes: object) => {
      await writeFile(file, JSON.stringify({ ...(JSON.parse(await readFile(file, 'utf8')) as object), ...changes }))
      return readFolder(images).model.modelFor({}).loss
    }
    expect(await config({ problem_type: null })).to.equal('softmaxCrossEntropy')
    expect(await config({ problem_type: null, id2label: { 0: 'LABEL_0' } })).to.equal('meanSquaredError')
    await refused('DATA_CORRUPT', () => config({ problem_type: 'ranking' }), 'problem_type', 'multi_label_classification', 'ranking')
    // Tags of which each is for or against, then classes.
    await config({ problem_type: 'multi_label_classification', id2label: { 0: 'a', 1: 'b', 2: 'c' } })
    const samples = Float32Array.from({ length: 8 * 3 * 64 }, (_, i) => (i % 7) / 7)
    const tags = Float32Array.from({ length: 8 * 3 }, (_, i) => i % 2)
    const labels = Int32Array.from({ length: 8 }, (_, i) => i % 2)
    const shape = { samples, sample: [3, 8, 8], name: 'noise' }
    const trained = async (data: Dataset) => {
      const job = train({ initial: images, data, learners: 1, batch: 4, until: { steps: 2 }, seed: 1 })
      await job.finished
      await job.model.save(`${images}-trained.safetensors`)
      return (await readModel(`${images}-trained.safetensors`)).model.loss
    }
    expect(await trained(datasetFromArrays({ ...shape, targets: tags, target: [3] }))).to.equal('binaryCrossEntropy')
    expect(await trained(datasetFromArrays({ ...shape, labels, classes: 2 }))).to.equal('softmaxCrossEntropy')
    await config({ problem_type: null })
    await refused('INVALID_OPTION', () => trained(datasetFromArrays({ ...shape, targets: tags, target: [3] })), 'its model is a classifier')
  })

  it('is not read without its head, which training begins anew', async () => {
    const images = `${path}-images`
    await saveModel(`${images}/`, savedOf(vitOfForm('vit', { input: [3, 8, 8], classes: 3 }, VIT)))
    const file = join(images, 'model.safetensors')
    const { tensors } = await readSafetensors(file)
    // As a model without a head is saved.
    const base = [...tensors].filter(([name]) => name.startsWith('vit.')).map(([name, tensor]) => [name.slice(4), tensor] as const)
    await writeSafetensors(file, base, { sync: false })
    await refused('SHAPE_MISMATCH', () => readModel(images), 'head.weight is not in the file', 'reinitialise')
    const { weights, initialised } = await readModel(images, { reinitialise: ['head'], seed: 2 })
    expect(initialised).to.deep.equal(['head.weight', 'head.bias'])
    const read = readFolder(images)
    const model = read.model.modelFor({})
    await checkFolderWeights(read, model)
    const { parameters } = await firstFolderWeights(read, model, 2)
    expect([...parameters]).to.deep.equal(Object.values(weights).flatMap(({ data }) => [...data]))
  })

  it('gives a shorter context its first positions', async () => {
    const { model, weights } = await readModel(path, { context: 3 })
    const all = savedOf(GPT).weights['positions.weight']!.data
    expect([model.input, [...weights['positions.weight']!.data]]).to.deep.equal([[3], [...all.subarray(0, 3 * 8)]])
  })

  it('is written whole or not at all, and replaces nothing', async () => {
    await refused('INVALID_OPTION', () => saveModel(`${path}/`, savedOf(GPT)), path, 'name a new one')
    await refused('WRITE_FAILED', () => saveModel(join(folder.path, 'nowhere', 'model/'), savedOf(GPT)), 'nowhere')
    await refused(
      'UNSUPPORTED_OPERATOR',
      () => saveModel(`${path}-b/`, savedOf(modelNamed('resnet20', { input: [3, 32, 32], classes: 3 }))),
      'resnet20'
    )
    expect(existsSync(`${path}-b`)).to.equal(false)
    // The longest name that the system takes.
    const long = join(folder.path, 'ü'.repeat(127), '/')
    await saveModel(long, savedOf(GPT))
    expect(existsSync(join(long, 'config.json'))).to.equal(true)
  })

  it('is not written for a model that only looks like one of an architecture', async () => {
    const layers = GPT.layers.map((layer) => (layer.kind === 'layerNorm' ? { ...layer, epsilon: 0.5 } : layer))
    await refused('UNSUPPORTED_OPERATOR', () => saveModel(`${path}-b/`, savedOf({ ...GPT, layers })))
  })

  describe('is refused in one sentence, before any work,', () => {
    const config = async (changes: object) => {
      const file = join(path, 'config.json')
      await writeFile(file, JSON.stringify({ ...(JSON.parse(await readFile(file, 'utf8')) as object), ...changes }))
    }
    const index = (map: unknown) => writeFile(join(path, 'model.safetensors.index.json'), JSON.stringify({ weight_map: map }))

    it('without config.json', async () => {
      await rm(join(path, 'config.json'))
      await refused('DATA_NOT_FOUND', () => train({ initial: path, data: 'tinyshakespeare' }), 'config.json')
    })

    it('without weights', async () => {
      await rm(join(path, 'model.safetensors'))
      await refused('DATA_NOT_FOUND', () => train({ initial: path, data: 'tinyshakespeare' }), 'model.safetensors.index.json')
    })

    it('of an architecture that is not known', async () => {
      await config({ model_type: 'bert' })
      await refused('UNKNOWN_NAME', () => train({ initial: path, data: 'tinyshakespeare' }), 'bert', 'gpt2')
    })

    it('of timm, whose weights are read as a file', async () => {
      await writeFile(join(path, 'config.json'), JSON.stringify({ architecture: 'resnet18', num_classes: 1000, pretrained_cfg: {} }))
      await refused('UNSUPPORTED_OPERATOR', () => readModel(path), 'a folder of timm, model resnet18', 'model.safetensors', '--mean')
      const { message } = await refused('INVALID_OPTION', () => readModel(join(path, 'model.safetensors')), 'does not describe its model')
      expect(message).to.not.include('name its folder')
    })

    it('in the place of which one of its files is named', async () => {
      await refused(
        'INVALID_OPTION',
        () => readModel(join(path, 'model.safetensors')),
        'does not describe its model',
        `name its folder, ${path}`
      )
    })

    it('with a config that asks for what is not computed, or for nonsense', async () => {
      await config({ scale_attn_by_inverse_layer_idx: true })
      await refused('UNSUPPORTED_OPERATOR', () => readFolder(path), 'scale_attn_by_inverse_layer_idx')
      await config({ scale_attn_by_inverse_layer_idx: false, activation_function: 'mish' })
      await refused('UNSUPPORTED_OPERATOR', () => readFolder(path), 'activation_function: received "mish"', 'gelu_python')
      await config({ activation_function: 'gelu_python', n_embd: -4 })
      await refused('DATA_CORRUPT', () => readFolder(path), 'n_embd', '-4')
      await config({ n_embd: 9 })
      await refused('SHAPE_MISMATCH', () => readFolder(path), 'n_embd')
    })

    it('with a shard that is not there', async () => {
      await rename(join(path, 'model.safetensors'), join(path, 'model-1.safetensors'))
      await index({ 'transformer.wte.weight': 'model-1.safetensors', 'transformer.wpe.weight': 'model-2.safetensors' })
      await refused('DATA_NOT_FOUND', () => train({ initial: path, data: 'tinyshakespeare' }), 'model-2.safetensors')
    })

    it('with an index that leads out of the folder', async () => {
      await copyFile(join(path, 'model.safetensors'), join(folder.path, 'secret.safetensors'))
      await rm(join(path, 'model.safetensors'))
      for (const elsewhere of ['../secret.safetensors', join(folder.path, 'secret.safetensors'), 'a\\..\\secret.safetensors', '..']) {
        await index({ 'transformer.wte.weight': elsewhere })
        await refused('DATA_CORRUPT', () => train({ initial: path, data: 'tinyshakespeare' }), 'weight_map', 'in the same folder')
      }
    })

    it('with a shard that lacks a tensor of the index', async () => {
      await rename(join(path, 'model.safetensors'), join(path, 'model-1.safetensors'))
      await index({ nothing: 'model-1.safetensors' })
      await refused('DATA_CORRUPT', () => readModel(path), 'nothing', 'model-1.safetensors')
    })

    it('with tensors of other shapes', async () => {
      await config({ n_inner: 21 })
      // Data that is not there would be told otherwise.
      const job = () => train({ initial: path, data: 'tinyshakespeare', dataDir: folder.path }).finished
      await refused('SHAPE_MISMATCH', job, 'block0.feedForward.expand.weight')
      await refused('SHAPE_MISMATCH', () => readModel(path), 'block0.feedForward.expand.weight', '[20,8]', '[21,8]')
    })

    it('with parts of one tensor of ours that are no floats, or not of one shape', async () => {
      const vit = `${path}-vit`
      await saveModel(`${vit}/`, savedOf(vitOfForm('vit', { input: [3, 8, 8], classes: 3 }, VIT)))
      const { tensors } = await readSafetensors(join(vit, 'model.safetensors'))
      const parts = ['query', 'key'].map((part) => `vit.encoder.layer.0.attention.attention.${part}.bias`) as [string, string]
      const read = async (...others: readonly (readonly [string, Tensor])[]) => {
        await writeSafetensors(join(vit, 'model.safetensors'), new Map([...tensors, ...others]), { sync: false })
        return readModel(vit)
      }
      const whole = await read()
      for (const part of parts)
        for (const data of [new BigInt64Array(8), new Int32Array(8)])
          await refused('SHAPE_MISMATCH', () => read([part, { shape: [8], data }]), 'attn.qkv.bias', 'needs floats')
      const of = (size: number) => ({ shape: [size], data: new Float32Array(size) })
      await refused('DATA_CORRUPT', () => read([parts[0], of(12)], [parts[1], of(4)]), parts[1], '[12], the shape of', parts[0], '[4]')
      const doubles = Float64Array.from(tensors.get(parts[0])!.data as Float32Array)
      expect((await read([parts[0], { shape: [8], data: doubles }])).weights).to.deep.equal(whole.weights)
    })

    it('beside a model, its size or other weights', async () => {
      await refused('INVALID_OPTION', () => train({ initial: path, model: 'gpt', data: 'tinyshakespeare' }), 'model: received "gpt"')
    })
  })
})

/** The tensors of a folder in two files with an index. */
async function shard(path: string): Promise<void> {
  const { tensors } = await readSafetensors(join(path, 'model.safetensors'))
  const files = ['model-00001-of-00002.safetensors', 'model-00002-of-00002.safetensors']
  const map = Object.fromEntries([...tensors.keys()].map((name, i) => [name, files[i % 2]!]))
  for (const file of files)
    await writeSafetensors(
      join(path, file),
      [...tensors].filter(([name]) => map[name] === file),
      { sync: false }
    )
  await writeFile(join(path, 'model.safetensors.index.json'), JSON.stringify({ metadata: {}, weight_map: map }))
  await rm(join(path, 'model.safetensors'))
  await mkdir(join(path, 'other'))
}
