import type { Model } from '../model.js'

/** Mean and std of ImageNet's pixels, channel by channel, on the scale of 0 to 1: what torchvision's weights were trained with. */
export const IMAGENET_PIXELS = { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] } as const

/** The zoo's models of photographs, whose weights come from torchvision as a rule. */
const NAMES: ReadonlySet<string> = new Set(['alexnet', 'vgg16', 'resnet18', 'resnet34', 'resnet50', 'resnet101', 'resnet152'])

/** How such a model takes its samples where nobody says; undefined for other models. */
export function photographNormalisation({ name, input }: Model): typeof IMAGENET_PIXELS | undefined {
  return NAMES.has(name) && input.length === 3 && input[0] === IMAGENET_PIXELS.mean.length ? IMAGENET_PIXELS : undefined
}
