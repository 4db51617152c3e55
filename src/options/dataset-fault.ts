import { isAbsolute } from 'node:path'
import type { Dataset, ReaderSpec, StreamedSamples } from '../data/dataset.js'
import { imageOptions } from '../data/images/image-options.js'
import type { DatasetSpec } from '../engine/contract.js'
import { messageOf, shown } from '../errors.js'
import { elements, NO_CLASS } from '../model/graph.js'
import { check } from '../schema/faults.js'
import { group, option } from '../schema/group.js'
import { oneOf, postingFault, type Schema } from '../schema/values.js'

/** Checks the properties that training cannot begin without; the functions that make a Dataset have checked the rest. */
export function isDataset(value: unknown): boolean {
  const { name, sample, classes, train, test } = Object(value) as Partial<Dataset>
  const isCounted = (samples: { readonly count?: unknown } | undefined | null) => typeof samples?.count === 'number'
  return typeof name === 'string' && Array.isArray(sample) && typeof classes === 'number' && isCounted(train) && isCounted(test)
}

const { threads, prefetch, cache } = imageOptions.entries
const feedOptions = group({ threads, prefetch, cache, onBadSample: option(oneOf(['fail', 'skip'])) })

type Unchecked<T> = { readonly [Name in keyof T]?: unknown }

/** What is wrong with a Dataset that a program has made by hand, and how to fix it; undefined if nothing is. The functions that make one have checked it. */
export function datasetFault(data: Dataset): string | undefined {
  const { mean, std, augmentation, classNames, classes, feed } = data as Unchecked<Dataset>
  for (const [name, value] of Object.entries({ mean, std }))
    if (!(Array.isArray(value) && value.every(Number.isFinite)))
      return `${name}: received ${shown(value)}; give a number for each channel, in a list`
  if (typeof augmentation !== 'object' || augmentation === null)
    return `augmentation: received ${shown(augmentation)}; give { padding: 0, flip: false } for none`
  if (classNames !== undefined && !(Array.isArray(classNames) && classNames.length === classes))
    return `classNames: received ${shown(classNames)}; give a list of ${shown(classes)} names, one for each class`
  if (feed !== undefined) {
    const fault = faultIn(feedOptions, feed, 'feed')
    if (fault !== undefined) return fault
  }
  for (const part of ['train', 'test'] as const) {
    const fault = partFault(data[part], data)
    if (fault !== undefined) return `${part}.${fault}`
  }
  return undefined
}

function partFault(samples: Dataset['train'], data: Dataset): string | undefined {
  const { sample, classes } = samples as Unchecked<Dataset['train']>
  if (String(sample) !== String(data.sample)) return `sample: received ${shown(sample)}; give ${shown(data.sample)}, the data set's`
  if ((classes ?? 0) !== data.classes) return `classes: received ${shown(classes)}; give ${data.classes}, the data set's`
  return 'reader' in samples ? streamedFault(samples) : storedFault(samples)
}

/** The engine compares the lengths of the arrays. */
function storedFault({ count, samples, labels, label, targets, target, classes = 0, stride }: Unchecked<DatasetSpec>): string | undefined {
  if (!['Uint8Array', 'Float32Array', 'Int32Array'].includes(kindOf(samples)))
    return `samples: received ${shown(samples)}; give a Uint8Array of pixels, a Float32Array of numbers, or an Int32Array of tokens`
  // The target of a window of a text is the window one token later.
  if (stride !== undefined) return undefined
  if (classes !== 0 && kindOf(labels) !== 'Int32Array')
    return `labels: received ${shown(labels)}; give an Int32Array with the class of each of its ${shown(count)} samples`
  if (label !== undefined && !Array.isArray(label)) return `label: received ${shown(label)}; give the shape of a sample's labels`
  if (label !== undefined && (labels as Int32Array).every((each) => each === NO_CLASS))
    return `labels: each is ${NO_CLASS}, which counts for nothing; give some of them a class`
  if (classes !== 0) return undefined
  if (kindOf(targets) !== 'Float32Array') return `targets: received ${shown(targets)}; give a Float32Array, or classes and labels`
  return Array.isArray(target) ? undefined : `target: received ${shown(target)}; give the shape of one target`
}

function faultIn(schema: Schema, value: unknown, path: string): string | undefined {
  try {
    check(schema, value, { path })
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

/** By its tag, for an array may be of another realm. */
function kindOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice('[object '.length, -1)
}

function streamedTargetsFault({ count, classes = 0, labels, label, target, targets }: Unchecked<StreamedSamples>): string | undefined {
  for (const [name, shape] of Object.entries({ label, target }))
    if (
      shape !== undefined &&
      !(Array.isArray(shape) && shape.length > 0 && shape.every((extent) => Number.isInteger(extent) && extent > 0))
    )
      return `${name}: received ${shown(shape)}; give a shape, such as [64, 64]`
  if (classes !== 0) {
    if (target !== undefined) return `target: received ${shown(target)}; leave it out, or classes: a sample has one or the other`
    if (label !== undefined)
      return labels === undefined ? undefined : `labels: leave them out: the reader writes those of the shape ${shown(label)}`
    if (kindOf(labels) === 'Int32Array' && (labels as Int32Array).length === count) return undefined
    return `labels: give an Int32Array with the class of each of its ${shown(count)} samples, or \`label\`, the shape of those that the reader writes`
  }
  if (!Array.isArray(target)) return `target: received ${shown(target)}; give the shape of one target, or classes and labels`
  if (targets === undefined) return undefined
  const needed = (count as number) * elements(target as number[])
  if (kindOf(targets) === 'Float32Array' && (targets as Float32Array).length === needed) return undefined
  return `targets: give a Float32Array of ${needed} numbers, those of its ${shown(count)} samples, or leave them to the reader`
}

function streamedFault(samples: StreamedSamples): string | undefined {
  const { count, items, reader } = samples as Unchecked<StreamedSamples>
  if (!Array.isArray(items) || items.length !== count || !items.every((key) => typeof key === 'string'))
    return `items: give a list with the key of each of its ${shown(count)} samples, a text`
  const targetsFault = streamedTargetsFault(samples)
  if (targetsFault !== undefined) return targetsFault
  const { module, options, place } = Object(reader) as Unchecked<ReaderSpec>
  if (typeof module !== 'string' || !(isAbsolute(module) || URL.canParse(module)))
    return `reader.module: received ${shown(module)}; give the address of a module, such as new URL('./reader.js', import.meta.url).href`
  for (const [name, value] of Object.entries({ options, place })) {
    const fault = postingFault(value)
    if (fault !== undefined) return `reader.${name}: ${fault}`
  }
  return undefined
}
