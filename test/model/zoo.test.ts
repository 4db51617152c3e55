import { expect } from 'chai'
import { buildGraph, parameterCount, predictionGraph } from '../../src/model/graph-builder.js'
import { elements, parametersOf } from '../../src/model/graph.js'
import { initialParameters } from '../../src/model/initialise.js'
import type { Model } from '../../src/model/model.js'
import {
  alexnet,
  efficientnet,
  gpt,
  inceptionV3,
  mlp,
  recurrent,
  imagenetResnet,
  mobilenetV2,
  mobilenetV3,
  modelNamed,
  resnet,
  vgg16,
  vit,
  zoo
} from '../../src/model/zoo/index.js'
import { thrown } from '../support/thrown.js'
import { TEXT } from '../support/zoo.js'

const mnist = { input: [1, 28, 28], classes: 10 }
const cifar = { input: [3, 32, 32], classes: 10 }
const text = { input: [128], classes: 65 }
const imagenet = { input: [3, 224, 224], classes: 1000 }

describe('the zoo', () => {
  // Figures of the papers: LeNet's from Caffe's tutorial, the CIFAR ResNets' from He et al., table 6; those for ImageNet as torchvision has them.
  const counts: readonly [string, typeof mnist, number][] = [
    ['logistic-regression', mnist, 7_850],
    ['mlp', mnist, 235_146],
    ['lenet', mnist, 431_080],
    ['resnet20', cifar, 269_722],
    ['resnet20_gn', cifar, 269_722],
    ['resnet32', cifar, 464_154],
    ['resnet44', cifar, 658_586],
    ['resnet56', cifar, 853_018],
    ['resnet110', cifar, 1_727_962],
    ['alexnet', imagenet, 61_100_840],
    ['vgg16', imagenet, 138_365_992],
    ['resnet18', imagenet, 11_689_512],
    ['resnet34', imagenet, 21_797_672],
    ['resnet50', imagenet, 25_557_032],
    ['resnet50_gn', imagenet, 25_557_032],
    ['resnet101', imagenet, 44_549_160],
    ['resnet152', imagenet, 60_192_808],
    ['resnext50_32x4d', imagenet, 25_028_904],
    ['wide_resnet50_2', imagenet, 68_883_240],
    ['mobilenet_v2', imagenet, 3_504_872],
    ['mobilenet_v3_large', imagenet, 5_483_032],
    ['mobilenet_v3_small', imagenet, 2_542_856],
    ['efficientnet_b0', imagenet, 5_288_548],
    ['efficientnet_b1', imagenet, 7_794_184],
    ['efficientnet_b2', imagenet, 9_109_994],
    ['efficientnet_b3', imagenet, 12_233_232],
    ['efficientnet_b4', imagenet, 19_341_616],
    ['convnext_tiny', imagenet, 28_589_128],
    ['convnext_small', imagenet, 50_223_688],
    ['convnext_base', imagenet, 88_591_464],
    ['convnext_large', imagenet, 197_767_336],
    // torchvision counts 3,326,696 more in the auxiliary classifier.
    ['inception_v3', imagenet, 27_161_264 - 3_326_696],
    // Caffe's cifar10_quick.
    ['convnet', cifar, 145_578],
    // As timm counts those of 16 pixels a patch.
    ['vit-tiny', imagenet, 5_717_416],
    ['vit-small', imagenet, 22_050_664],
    ['vit-base', imagenet, 86_567_656],
    // Embedding and positions, 12 width^2 + 13 width a block, the last norm; the head has the embedding's weights.
    ['gpt', text, 128 * (65 + 128) + 4 * (12 * 128 ** 2 + 13 * 128) + 2 * 128],
    // Embedding, two layers as PyTorch counts them, and the head.
    ['lstm', text, 65 * 256 + 2 * 4 * (2 * 256 ** 2 + 2 * 256) + 65 * (256 + 1)],
    ['gru', text, 65 * 256 + 2 * 3 * (2 * 256 ** 2 + 2 * 256) + 65 * (256 + 1)],
    ['text-classifier', text, 64 * (256 + 128) + 2 * (12 * 64 ** 2 + 13 * 64) + 2 * 64 + 65 * (64 + 1)]
  ]
  for (const [name, shape, count] of counts)
    it(`${name} has ${count} parameters`, () => {
      expect(parameterCount(modelNamed(name, shape))).to.equal(count)
    })

  for (const [name, shape, groups] of [
    ['resnet20_gn', cifar, 8],
    // timm's.
    ['resnet50_gn', imagenet, 32]
  ] as const)
    it(`${name} has norms of ${groups} groups alone`, () => {
      const { operators } = predictionGraph(modelNamed(name, shape))
      const norms = operators.filter(({ kind }) => /Norm/.test(kind))
      expect(new Set(norms.map(({ kind, attributes }) => `${kind} ${String(attributes['groups'])}`))).to.deep.equal(
        new Set([`groupNorm ${groups}`])
      )
    })

  it('has a figure above for every model', () => {
    expect(Object.keys(zoo)).to.have.members(counts.map(([name]) => name))
  })

  it("gives shortcut B's blocks a projection where the shape changes", () => {
    const model = resnet(cifar, { depth: 20, shortcut: 'B' })
    const names = parametersOf(predictionGraph(model)).map(({ name }) => name)
    expect(names.filter((name) => name.includes('shortcut'))).to.deep.equal(
      ['layer2.0', 'layer3.0'].flatMap((block) => ['0.weight', '1.weight', '1.bias'].map((suffix) => `${block}.shortcut.${suffix}`))
    )
    expect(parameterCount(model)).to.equal(269_722 + 16 * 32 + 2 * 32 + 32 * 64 + 2 * 64)
  })

  it('fits other shapes', () => {
    for (const name of Object.keys(zoo).filter((each) => !TEXT.includes(each))) {
      const input = ['alexnet', 'vgg16', 'inception_v3'].includes(name) ? [2, 100, 80] : [2, 24, 20]
      const graph = buildGraph(modelNamed(name, { input, classes: 7 }), { batch: 3, mode: 'train' })
      expect(graph.values[graph.named.output!]!.shape, name).to.deep.equal([3, 7])
    }
  })

  it('refuses a name it does not have, with those it has', () => {
    const error = thrown(() => modelNamed('googlenet', cifar))
    expect(error.code).to.equal('UNKNOWN_NAME')
    expect(error.message).to.include('"googlenet"').and.to.include('resnet20')
    expect(thrown(() => modelNamed('toString', cifar)).code).to.equal('UNKNOWN_NAME')
  })

  it('has a GPT of any size, over tokens', () => {
    const model = gpt({ input: [12], classes: 7 }, { layers: 2, heads: 3, width: 24, dropout: 0.1 })
    const { values, named } = buildGraph(model, { batch: 3, mode: 'train' })
    expect(values[named.output!]!.shape).to.deep.equal([3, 12, 7])
    expect(thrown(() => gpt(mnist)).code).to.equal('SHAPE_MISMATCH')
    expect(thrown(() => gpt(text, { layers: 0 })).message).to.include('layers: received 0')
    expect(thrown(() => gpt(text, { heads: 3 })).message).to.include('width: received 128; use a multiple of the 3 heads')
  })

  it('has recurrent language models of any size, with dropout before and behind each layer', () => {
    const model = recurrent({ input: [12], classes: 7 }, { layers: 3, width: 24, dropout: 0.1 }, 'gru')
    const { values, named, operators } = buildGraph(model, { batch: 3, mode: 'train' })
    expect(values[named.output!]!.shape).to.deep.equal([3, 12, 7])
    expect(operators.filter(({ kind }) => ['gru', 'dropout'].includes(kind)).map(({ kind, name }) => `${kind} ${name}`)).to.deep.equal([
      'dropout dropout1',
      'gru rnn.l0',
      'dropout rnn.l0_dropout',
      'gru rnn.l1',
      'dropout rnn.l1_dropout',
      'gru rnn',
      'dropout dropout2'
    ])
    const predicts = predictionGraph(model)
    expect(predicts.operators.some(({ kind }) => kind === 'dropout')).to.equal(false)
    expect(parametersOf(predicts).map(({ name }) => name)).to.include.members(['encoder.weight', 'rnn.weight_hh_l2', 'decoder.bias'])
    expect(thrown(() => recurrent(mnist)).message)
      .to.include('model lstm')
      .and.to.include('(1, 28, 28)')
    expect(thrown(() => recurrent(text, { heads: 3 } as object)).message).to.include('heads: received 3; use only layers, width, dropout')
    expect(thrown(() => recurrent(text, {}, 'rnn' as 'gru')).code).to.equal('UNKNOWN_NAME')
  })

  it('refuses a depth that is not 6n+2', () => {
    expect(thrown(() => resnet(cifar, { depth: 18 })).message).to.include('depth: received 18')
  })

  it('refuses a shortcut that there is not, and hidden layers that are no list', () => {
    expect(thrown(() => resnet(cifar, { shortcut: 'C' as 'A' })).message).to.equal('shortcut: received "C"; use one of A, B')
    expect(thrown(() => mlp(mnist, { hidden: 64 as unknown as number[] })).message).to.include('hidden: received 64; give a list')
  })

  it('says which images fit where these do not', () => {
    const tooSmall = thrown(() => modelNamed('alexnet', cifar))
    expect(tooSmall.code).to.equal('SHAPE_MISMATCH')
    expect(tooSmall.message).to.include('(3, 32, 32)').and.to.include('63 to 254 pixels')
    expect(thrown(() => modelNamed('vgg16', mnist)).message).to.include('32 to 255 pixels')
    expect(thrown(() => modelNamed('inception_v3', cifar)).message)
      .to.include('(3, 32, 32)')
      .and.to.include('75 to 8192 pixels')
    expect(thrown(() => modelNamed('vgg16', { input: [3, 256, 256], classes: 2 })).message).to.include('32 to 255 pixels')
    expect(thrown(() => modelNamed('vgg16', { input: [784], classes: 2 })).message).to.include('(784)')
    for (const [name, least, most] of [
      ['alexnet', 63, 254],
      ['inception_v3', 75, 299],
      ['vgg16', 32, 255]
    ] as const)
      for (const side of [least, most])
        expect(() => buildGraph(modelNamed(name, { input: [3, side, side], classes: 2 }), { batch: 2, mode: 'train' })).not.to.throw()
  })

  it('has vision transformers with patches that suit the images, or with others, and says which images fit', () => {
    const lengthOf = (side: number, size = {}) => {
      const { values } = predictionGraph(vit({ input: [3, side, side], classes: 10 }, size))
      return values.find(({ name }) => name === 'pos_embed')!.shape[1]
    }
    expect([lengthOf(224), lengthOf(32), lengthOf(28), lengthOf(32, { patch: 8 })]).to.deep.equal([
      1 + 14 ** 2,
      1 + 8 ** 2,
      1 + 7 ** 2,
      1 + 4 ** 2
    ])
    const odd = thrown(() => modelNamed('vit-tiny', { input: [3, 30, 32], classes: 10 }))
    expect(odd.code).to.equal('SHAPE_MISMATCH')
    expect(odd.message).to.equal(
      'model vit-tiny: received input (3, 30, 32); it takes images (C, H, W) whose sides are multiples of its patches of 4 pixels: scale the images, or give another patch'
    )
    expect(thrown(() => modelNamed('vit-base', { input: [12], classes: 10 })).code).to.equal('SHAPE_MISMATCH')
    expect(thrown(() => vit(cifar, { patch: 0 })).message).to.equal('patch: received 0; use a whole number of at least 1')
    expect(thrown(() => modelNamed('vit-small', cifar, { heads: 5 })).message).to.include(
      'width: received 384; use a multiple of the 5 heads'
    )
  })

  it('keeps more of small images in models of inverted residual blocks, with the same weights', () => {
    for (const [name, lastLayer] of [
      ['mobilenet_v2', 18],
      ['mobilenet_v3_large', 16],
      ['mobilenet_v3_small', 12],
      ['efficientnet_b0', 8]
    ] as const) {
      const model = (side: number): Model => modelNamed(name, { input: [3, side, side], classes: 1000 })
      const last = (side: number): readonly number[] =>
        predictionGraph(model(side))
          .values.find((value) => value.name === `features.${lastLayer}.2`)!
          .shape.slice(2)
      expect([last(224), last(64), last(32)], name).to.deep.equal([
        [7, 7],
        [2, 2],
        [4, 4]
      ])
      expect(parameterCount(model(32)), name).to.equal(parameterCount(model(224)))
    }
  })

  it('keeps more of small images in ConvNeXt, with the same weights', () => {
    const model = (side: number): Model => modelNamed('convnext_tiny', { input: [3, side, side], classes: 1000 })
    const last = (side: number): readonly number[] =>
      predictionGraph(model(side))
        .values.find(({ name }) => name === 'features.7.2.block.0')!
        .shape.slice(1)
    for (const [side, left] of [
      [224, 7],
      [100, 3],
      [64, 2],
      [33, 2],
      [28, 1]
    ] as const)
      expect(last(side), `${side} pixels`).to.deep.equal([768, left, left])
    expect(parameterCount(model(28))).to.equal(parameterCount(model(224)))
  })

  it('keeps the size of its features, and so of its weights, for images around 224 pixels', () => {
    const sizes = (name: string, side: number) => parameterCount(modelNamed(name, { input: [3, side, side], classes: 1000 }))
    for (const side of [224, 254]) expect([sizes('alexnet', side), sizes('vgg16', side)]).to.deep.equal([61_100_840, 138_365_992])
    expect(sizes('alexnet', 195)).to.equal(61_100_840 - (36 - 25) * 256 * 4096)
  })

  describe('has the names of torchvision', () => {
    const names = (name: string): string[] => parametersOf(predictionGraph(modelNamed(name, imagenet))).map((parameter) => parameter.name)

    it('in AlexNet', () => {
      const layers = [0, 3, 6, 8, 10].map((i) => `features.${i}`).concat([1, 4, 6].map((i) => `classifier.${i}`))
      expect(names('alexnet')).to.deep.equal(layers.flatMap((layer) => [`${layer}.weight`, `${layer}.bias`]))
    })

    it('in VGG-16 with batch norm', () => {
      const convolutions = [0, 3, 7, 10, 14, 17, 20, 24, 27, 30, 34, 37, 40]
      const layers = convolutions.flatMap((i) => [`features.${i}`, `features.${i + 1}`]).concat([0, 3, 6].map((i) => `classifier.${i}`))
      expect(names('vgg16')).to.deep.equal(layers.flatMap((layer) => [`${layer}.weight`, `${layer}.bias`]))
    })

    it('in MobileNetV2', () => {
      const all = names('mobilenet_v2')
      const normed = (layer: string, norm: string): string[] => [`${layer}.weight`, `${norm}.weight`, `${norm}.bias`]
      const at = (i: number) => all.filter((name) => name.startsWith(`features.${i}.`))
      expect(at(0)).to.deep.equal(normed('features.0.0', 'features.0.1'))
      expect(at(1)).to.deep.equal([
        ...normed('features.1.conv.0.0', 'features.1.conv.0.1'),
        ...normed('features.1.conv.1', 'features.1.conv.2')
      ])
      for (let i = 2; i < 18; i++)
        expect(at(i)).to.deep.equal(
          [
            ['0.0', '0.1'],
            ['1.0', '1.1'],
            ['2', '3']
          ].flatMap(([layer, norm]) => normed(`features.${i}.conv.${layer}`, `features.${i}.conv.${norm}`))
        )
      expect(all.slice(-5)).to.deep.equal([...normed('features.18.0', 'features.18.1'), 'classifier.1.weight', 'classifier.1.bias'])
    })

    it('in Inception-v3', () => {
      const all = names('inception_v3')
      const units = (block: string) =>
        new Set(all.filter((name) => name.startsWith(`${block}.`)).map((name) => name.split('.').slice(1, -2).join('.')))
      expect([...units('Mixed_6b')]).to.deep.equal([
        'branch1x1',
        ...[1, 2, 3].map((i) => `branch7x7_${i}`),
        ...[1, 2, 3, 4, 5].map((i) => `branch7x7dbl_${i}`),
        'branch_pool'
      ])
      expect([...units('Mixed_7c')]).to.deep.equal(
        ['branch1x1', 'branch3x3_1', 'branch3x3_2a', 'branch3x3_2b']
          .concat(['branch3x3dbl_1', 'branch3x3dbl_2', 'branch3x3dbl_3a', 'branch3x3dbl_3b'])
          .concat(['branch_pool'])
      )
      expect(all.slice(0, 3)).to.deep.equal(['conv.weight', 'bn.weight', 'bn.bias'].map((name) => `Conv2d_1a_3x3.${name}`))
      expect(all).to.have.length(94 * 3 + 2)
    })

    it('and of timm in vision transformers', () => {
      const block = ['norm1', 'attn.qkv', 'attn.proj', 'norm2', 'mlp.fc1', 'mlp.fc2']
      const blocks = Array.from({ length: 12 }, (_, i) => block.map((layer) => `blocks.${i}.${layer}`)).flat()
      const weighted = (layer: string): string[] => [`${layer}.weight`, `${layer}.bias`]
      expect(names('vit-tiny')).to.deep.equal([
        ...weighted('patch_embed.proj'),
        'cls_token',
        'pos_embed',
        ...[...blocks, 'norm', 'head'].flatMap(weighted)
      ])
    })

    it('in ResNets', () => {
      const all = names('resnet50')
      expect(all.slice(0, 3)).to.deep.equal(['conv1.weight', 'bn1.weight', 'bn1.bias'])
      expect(all.filter((name) => name.startsWith('layer2.0.'))).to.deep.equal(
        ['conv1.weight', 'bn1.weight', 'bn1.bias', 'conv2.weight', 'bn2.weight', 'bn2.bias', 'conv3.weight', 'bn3.weight', 'bn3.bias']
          .concat(['downsample.0.weight', 'downsample.1.weight', 'downsample.1.bias'])
          .map((name) => `layer2.0.${name}`)
      )
      expect(all.filter((name) => name.includes('downsample.0'))).to.have.length(4)
      expect(names('resnet18').filter((name) => name.includes('downsample.0'))).to.have.length(3)
      expect(all.slice(-2)).to.deep.equal(['fc.weight', 'fc.bias'])
    })
  })

  it('begins residual blocks as the identity where it is asked to', () => {
    const first = (zeroInitResidual: boolean) =>
      parametersOf(buildGraph(imagenetResnet(cifar, { depth: 18, zeroInitResidual }), { batch: 2, mode: 'train' }))
        .filter(({ name, initialiser }) => /^layer.*bn\d.weight$/.test(name) && initialiser?.kind === 'constant' && initialiser.value === 0)
        .map(({ name }) => name)
    expect(first(false)).to.deep.equal([])
    expect(first(true)).to.deep.equal([1, 2, 3, 4].flatMap((stage) => [0, 1].map((block) => `layer${stage}.${block}.bn2.weight`)))
  })

  it('draws the first weights of vision transformers and ConvNeXts as timm and torchvision do', () => {
    const graph = predictionGraph(vit(cifar, { layers: 1, heads: 1, width: 64 }))
    const values = initialParameters(graph, 1)
    let at = 0
    const drawn = new Map(parametersOf(graph).map(({ name, shape }) => [name, [...values.subarray(at, (at += elements(shape)))]]))
    const most = (name: string) => Math.max(...drawn.get(name)!.map(Math.abs))
    const std = (name: string) => Math.sqrt(drawn.get(name)!.reduce((sum, value) => sum + value * value, 0) / drawn.get(name)!.length)
    // Cut off at two deviations, it would be 0.0176.
    for (const name of ['pos_embed', 'blocks.0.attn.qkv.weight', 'blocks.0.mlp.fc1.weight'])
      expect(std(name), name).to.be.closeTo(0.02, 1e-3)
    // timm leaves these as PyTorch draws them.
    for (const name of ['patch_embed.proj.weight', 'patch_embed.proj.bias']) expect(most(name), name).to.be.within(0.12, 1 / Math.sqrt(48))
    const ofConvnext = parametersOf(predictionGraph(modelNamed('convnext_tiny', cifar)))
    const weights = ofConvnext.filter(({ shape }) => shape.length > 1 && shape.at(-1) !== 1)
    expect(new Set(weights.map(({ initialiser }) => JSON.stringify(initialiser)))).to.have.keys('{"kind":"normal","std":0.02,"mean":0}')
  })

  it('has a stem for small images, which keeps their size', () => {
    const graph = buildGraph(imagenetResnet(cifar, { depth: 18, stem: 'small' }), { batch: 2, mode: 'train' })
    const at = (name: string) => graph.values.find((value) => value.name === name)!.shape
    expect([at('conv1'), at('layer1.0'), at('layer4.1')]).to.deep.equal([
      [2, 64, 32, 32],
      [2, 64, 32, 32],
      [2, 512, 4, 4]
    ])
    expect(parameterCount(imagenetResnet(cifar, { depth: 18, stem: 'small' }))).to.equal(11_173_962)
  })

  it('refuses a depth and a stem that the ResNets for ImageNet do not have', () => {
    expect(thrown(() => imagenetResnet(imagenet, { depth: 20 })).message)
      .to.include('depth: received 20')
      .and.to.include('18, 34, 50')
    for (const grouped of [{ groups: 32 }, { widthPerGroup: 128 }])
      expect(thrown(() => imagenetResnet(imagenet, { depth: 34, ...grouped })).message).to.include('use it with 50 layers or more')
    expect(thrown(() => imagenetResnet(imagenet, { stem: 'tiny' as 'small' })).message).to.include('stem: received "tiny"')
  })

  it('refuses what is no shape, and options that a model does not have, as JavaScript may give them', () => {
    for (const build of Object.values(zoo)) {
      expect(thrown(() => build(undefined as never))).to.include({ code: 'INVALID_OPTION' })
      expect(thrown(() => build({ classes: 10 } as never)).message).to.match(/^input: received nothing; give one sample's shape/)
      expect(thrown(() => build({ input: [1, 28, 28] } as never)).message).to.match(
        /^classes: received nothing; give the number of classes/
      )
    }
    expect(thrown(() => modelNamed('lenet', undefined as never)).message).to.match(/^shape: received nothing; .*input: \[1, 28, 28\]/)
    expect(thrown(() => resnet(cifar, { deph: 32 } as never)).message).to.match(/^deph: .*depth/)
    expect(thrown(() => imagenetResnet(imagenet, { stem: 'tiny' } as never)).message).to.match(
      /^stem: received "tiny"; use one of large, small/
    )
    expect(thrown(() => mlp(mnist, { hiden: [3] } as never)).message).to.match(/^hiden: /)
    expect(thrown(() => mlp(mnist, { hidden: 3 } as never)).message).to.match(/^hidden: received 3; give a list/)
    for (const build of [alexnet, vgg16, mobilenetV2, mobilenetV3, efficientnet, inceptionV3])
      expect(thrown(() => build({ ...imagenet, input: [3, 128, 128] }, { dropout: 2 })).message).to.match(/^dropout: received 2; /)
  })
})
