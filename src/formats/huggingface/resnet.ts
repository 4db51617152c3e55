import * as v from 'valibot'
import { ArbalestError, shown } from '../../errors.js'
import type { Layer } from '../../model/layer.js'
import type { Model } from '../../model/model.js'
import { EXPANSION, resnetOfForm, type ResnetForm } from '../../model/zoo/imagenet-resnet.js'
import { checked } from '../json-file.js'
import { computesAs, type Architecture } from './architecture.js'
import { classesOf, lossOf, problemOf, refuseUnsupported, size } from './config-fields.js'
import type { TensorRule } from './tensor-rules.js'

const schema = v.pipe(
  v.looseObject({
    num_channels: v.optional(size(1024), 3),
    embedding_size: v.optional(size(2 ** 16), 64),
    hidden_sizes: v.optional(v.pipe(v.array(size(2 ** 16)), v.minLength(1), v.maxLength(16)), [256, 512, 1024, 2048]),
    depths: v.optional(v.pipe(v.array(size(1000)), v.minLength(1), v.maxLength(16)), [3, 4, 6, 3]),
    layer_type: v.optional(v.picklist(['basic', 'bottleneck']), 'bottleneck'),
    downsample_in_first_stage: v.optional(v.boolean(), false),
    downsample_in_bottleneck: v.optional(v.boolean(), false)
  }),
  v.check(({ hidden_sizes, depths }) => hidden_sizes.length === depths.length, 'as many hidden_sizes as depths')
)

/** ResNets (He et al., CVPR 2016). */
export const resnet: Architecture = {
  type: 'resnet',
  samples: 'images',
  prefix: 'resnet.',
  ignored: /\.num_batches_tracked$/,
  head: 'fc',
  read(config, file) {
    const given = checked(schema, config, file)
    refuseUnsupported(config, { hidden_act: 'relu' }, file)
    const block = given.layer_type
    const odd = given.hidden_sizes.find((channels) => channels % EXPANSION[block] !== 0)
    if (odd !== undefined)
      throw new ArbalestError(
        'SHAPE_MISMATCH',
        `${file}: hidden_sizes: received ${odd}; of ${block} blocks it must be a multiple of ${EXPANSION[block]}`
      )
    const form: ResnetForm = {
      block,
      stem: 'large',
      stemChannels: given.embedding_size,
      stages: given.hidden_sizes.map((channels, i) => ({ channels, blocks: given.depths[i]! })),
      strideInFirst: block === 'bottleneck' && given.downsample_in_bottleneck,
      halvesFirstStage: given.downsample_in_first_stage
    }
    const { count } = classesOf(config)
    const loss = lossOf(config, count, file)
    const name = nameOf(form)
    return {
      classes: count,
      loss,
      channels: given.num_channels,
      modelFor({ input = [given.num_channels, 224, 224], classes = count, loss: wanted = loss }) {
        if (input.length === 3 && input[0] === given.num_channels) return { ...resnetOfForm(name, { input, classes }, form), loss: wanted }
        throw new ArbalestError(
          'SHAPE_MISMATCH',
          `${file}: the data has samples ${shown(input)}, where it has images of ${given.num_channels} channels; give it such images`
        )
      },
      rules: () => rulesOf(form)
    }
  },
  configOf(model) {
    const form = formOf(model)
    const shape = { input: model.input, classes: (model.layers.at(-1) as { readonly features?: number }).features ?? 1 }
    if (!form || !computesAs(resnetOfForm('', shape, form), model)) return undefined
    const config = {
      architectures: ['ResNetForImageClassification'],
      problem_type: problemOf(model.loss),
      num_channels: model.input[0],
      embedding_size: form.stemChannels,
      hidden_sizes: form.stages.map(({ channels }) => channels),
      depths: form.stages.map(({ blocks }) => blocks),
      layer_type: form.block,
      hidden_act: 'relu',
      downsample_in_first_stage: form.halvesFirstStage,
      downsample_in_bottleneck: form.strideInFirst
    }
    return { config, rules: rulesOf(form) }
  }
}

/** As the zoo calls those of the paper. */
function nameOf({ block, stages }: ResnetForm): string {
  const layers = stages.reduce((sum, { blocks }) => sum + blocks, 0) * (block === 'basic' ? 2 : 3) + 2
  return stages.length === 4 ? `resnet${layers}` : 'resnet'
}

function rulesOf({ block, stemChannels, stages, halvesFirstStage }: ResnetForm): readonly TensorRule[] {
  const convolutions = block === 'basic' ? 2 : 3
  let channels = stemChannels
  const blocks = stages.flatMap(({ channels: after, blocks: count }, stage) =>
    Array.from({ length: count }, (_, i) => {
      const ours = `layer${stage + 1}.${i}`
      const theirs = `resnet.encoder.stages.${stage}.layers.${i}`
      const changes = channels !== after || (i === 0 && (stage > 0 || halvesFirstStage))
      channels = after
      return [
        ...Array.from({ length: convolutions }, (__, j) =>
          normed(`${ours}.conv${j + 1}`, `${ours}.bn${j + 1}`, `${theirs}.layer.${j}`)
        ).flat(),
        ...(changes ? normed(`${ours}.downsample.0`, `${ours}.downsample.1`, `${theirs}.shortcut`) : [])
      ]
    }).flat()
  )
  return [
    ...normed('conv1', 'bn1', 'resnet.embedder.embedder'),
    ...blocks,
    { ours: 'fc.weight', theirs: ['classifier.1.weight'] },
    { ours: 'fc.bias', theirs: ['classifier.1.bias'] }
  ]
}

/** A convolution and its batch norm. */
function normed(convolution: string, norm: string, theirs: string): readonly TensorRule[] {
  const parts = ['weight', 'bias', 'running_mean', 'running_var']
  return [
    { ours: `${convolution}.weight`, theirs: [`${theirs}.convolution.weight`] },
    ...parts.map((part) => ({ ours: `${norm}.${part}`, theirs: [`${theirs}.normalization.${part}`] }))
  ]
}

/** The form that a model has if it is such a ResNet at all. */
function formOf({ layers }: Model): ResnetForm | undefined {
  const [first] = layers
  const blocks = layers.filter((layer) => layer.kind === 'residual')
  if (first?.kind !== 'conv2d' || blocks.length === 0 || layers.at(-1)?.kind !== 'linear') return undefined
  const stages: { channels: number; blocks: number }[] = []
  for (const { name, body } of blocks) {
    const stage = Number(/^layer(\d+)\./.exec(name ?? '')?.[1])
    const channels = convolutionsOf(body).at(-1)?.filters
    if (!(stage >= 1) || channels === undefined) return undefined
    if (stages.length < stage) stages.push({ channels, blocks: 0 })
    stages[stage - 1]!.blocks++
  }
  const body = convolutionsOf(blocks[0]!.body)
  const strided = blocks
    .map((each) => convolutionsOf(each.body))
    .find((convolutions) => convolutions.some(({ stride = 1 }) => stride !== 1))
  return {
    block: body.length === 3 ? 'bottleneck' : 'basic',
    stem: 'large',
    stemChannels: first.filters,
    stages,
    strideInFirst: body.length === 3 && strided?.[0]?.stride === 2,
    halvesFirstStage: body.some(({ stride = 1 }) => stride !== 1)
  }
}

function convolutionsOf(layers: readonly Layer[]): Extract<Layer, { kind: 'conv2d' }>[] {
  return layers.filter((layer) => layer.kind === 'conv2d')
}
