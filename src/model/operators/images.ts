import { elements, type ValueId } from '../graph.js'
import { pairOf, windowsOf, type Window } from '../layer-checks.js'
import type { PoolLayer, SubsamplePadLayer } from '../model.js'
import type { LayerWriter } from './layer-writer.js'

export function pool(layer: PoolLayer, to: LayerWriter, x: ValueId): ValueId {
  const shape = to.image(x, 'put it before flatten')
  const kernel = pairOf(to.name, 'kernel', layer.kernel, 1)
  const window: Window = {
    kernel,
    stride: pairOf(to.name, 'stride', layer.stride ?? kernel, 1),
    padding: pairOf(to.name, 'padding', layer.padding ?? 0, 0)
  }
  if (window.padding.some((padding, axis) => 2 * padding > kernel[axis]!))
    throw to.invalid('padding', layer.padding, 'use at most half of the kernel')
  const output = [...shape.slice(0, 2), ...windowsOf(to.name, shape.slice(1), window)]
  const attributes = { kernel, stride: window.stride, padding: window.padding }
  if (layer.kind === 'maxPool2d' && kernel[0] * kernel[1] > 255)
    throw to.invalid('kernel', layer.kernel, 'use a window of at most 255 pixels')
  return to.simple(layer.kind, x, output, attributes)
}

export function globalAvgPool(to: LayerWriter, x: ValueId): ValueId {
  return to.simple('globalAvgPool', x, to.image(x, 'put it before flatten').slice(0, 2))
}

export function flatten(to: LayerWriter, x: ValueId): ValueId {
  const [batch, ...sample] = to.shape(x) as [number, ...number[]]
  return to.simple('reshape', x, [batch, elements(sample)])
}

export function subsamplePad(layer: SubsamplePadLayer, to: LayerWriter, x: ValueId): ValueId {
  const [batch, channels, height, width] = to.image(x, 'put it before flatten')
  const stride = to.wholeNumber('stride', layer.stride, 1)
  const before = to.wholeNumber('before', layer.before, 0)
  const after = to.wholeNumber('after', layer.after, 0)
  const shape = [batch, channels + before + after, Math.ceil(height / stride), Math.ceil(width / stride)]
  return to.simple('subsamplePad', x, shape, { stride, before, after })
}
