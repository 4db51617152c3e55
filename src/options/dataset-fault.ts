import { isAbsolute } from 'node:path'
import type { Dataset, StreamedSamples } from '../data/dataset.js'
import { shown } from '../errors.js'
import { postingFault } from '../schema/postable.js'

/** Checks the properties that training cannot begin without; the functions that make a Dataset have checked the rest. */
export function isDataset(value: unknown): boolean {
  const { name, sample, classes, train, test } = Object(value) as Partial<Dataset>
  const isCounted = (samples: { readonly count?: unknown } | undefined | null) => typeof samples?.count === 'number'
  return typeof name === 'string' && Array.isArray(sample) && typeof classes === 'number' && isCounted(train) && isCounted(test)
}

type Unchecked<T> = { readonly [Name in keyof T]?: unknown }

/** What is wrong with a Dataset that a program has made by hand, and how to fix it; undefined if nothing is. The functions that make one have checked it. */
export function datasetFault(data: Dataset): string | undefined {
  const { mean, std, augmentation } = data as Unchecked<Dataset>
  for (const [name, value] of Object.entries({ mean, std }))
    if (!(Symbol.iterator in Object(value))) return `${name}: received ${shown(value)}; give a number for each channel`
  if (typeof augmentation !== 'object' || augmentation === null)
    return `augmentation: received ${shown(augmentation)}; give { padding: 0, flip: false } for none`
  for (const part of ['train', 'test'] as const) {
    const samples = data[part]
    const fault = 'reader' in samples ? streamedFault(samples, data) : undefined
    if (fault !== undefined) return `${part}.${fault}`
  }
  return undefined
}

function streamedFault(samples: StreamedSamples, data: Dataset): string | undefined {
  const { count, sample, classes, labels, items, reader } = samples as Unchecked<StreamedSamples>
  if (!Array.isArray(items) || items.length !== count) return `items: give a list with the key of each of its ${shown(count)} samples`
  // By its tag, for an array may be of another realm.
  if (Object.prototype.toString.call(labels) !== '[object Int32Array]' || (labels as Int32Array).length !== count)
    return `labels: give an Int32Array with the class of each of its ${shown(count)} samples`
  if (String(sample) !== String(data.sample)) return `sample: received ${shown(sample)}; give ${shown(data.sample)}, the data set's`
  if (classes !== data.classes) return `classes: received ${shown(classes)}; give ${data.classes}, the data set's`
  const { module, options } = Object(reader) as { readonly module?: unknown; readonly options?: unknown }
  if (typeof module !== 'string' || !(isAbsolute(module) || URL.canParse(module)))
    return `reader.module: received ${shown(module)}; give the address of a module, such as new URL('./reader.js', import.meta.url).href`
  const fault = postingFault(options)
  return fault && `reader.options: ${fault}`
}
