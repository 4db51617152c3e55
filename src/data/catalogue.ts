import type { Dataset } from './dataset.js'
import { readCifar } from './cifar.js'
import { readIdxPair } from './idx.js'
import type { PackedFile } from './locate.js'

/** What is known of a data set before its files are read. */
export interface Recipe extends Pick<Dataset, 'sample' | 'classes' | 'mean' | 'deviation' | 'augmentation'> {
  /** Where its archives unpack to, below the directory given. */
  readonly folders: readonly string[]
  readonly files: readonly PackedFile[]
  /** Reads the files found for `files`, in their order. */
  read(paths: readonly string[]): Promise<Pick<Dataset, 'train' | 'test'>>
}

/** The published data sets, with the customary mean and deviation of their training pixels. */
export const CATALOGUE: ReadonlyMap<string, Recipe> = new Map<string, Recipe>([
  ['mnist', greyImages(['mnist', 'MNIST/raw'], 0.1307, 0.3081)],
  ['fashion-mnist', greyImages(['fashion-mnist', 'FashionMNIST/raw'], 0.286, 0.353)],
  ['cifar-10', cifar10()]
])

function greyImages(folders: readonly string[], mean: number, deviation: number): Recipe {
  const sample = [1, 28, 28]
  const classes = 10
  const files = ['train-images-idx3', 'train-labels-idx1', 't10k-images-idx3', 't10k-labels-idx1'].map((name) => ({
    name: `${name}-ubyte`,
    packed: ['.gz']
  }))
  return {
    sample,
    classes,
    mean: [mean],
    deviation: [deviation],
    augmentation: { padding: 0, flip: false },
    folders,
    files,
    read: async ([trainImages, trainLabels, testImages, testLabels]) => ({
      train: await readIdxPair(trainImages!, trainLabels!, sample, classes),
      test: await readIdxPair(testImages!, testLabels!, sample, classes)
    })
  }
}

function cifar10(): Recipe {
  const batches = ['data_batch_1', 'data_batch_2', 'data_batch_3', 'data_batch_4', 'data_batch_5', 'test_batch']
  return {
    sample: [3, 32, 32],
    classes: 10,
    mean: [0.4914, 0.4822, 0.4465],
    deviation: [0.247, 0.2435, 0.2616],
    // Four zero pixels around, a random crop and a random flip: He, Zhang, Ren and Sun, CVPR 2016.
    augmentation: { padding: 4, flip: true },
    folders: ['cifar-10', 'cifar-10-batches-bin'],
    files: batches.map((name) => ({ name: `${name}.bin`, packed: ['.gz', '.xz'] })),
    read: async (paths) => ({ train: await readCifar(paths.slice(0, 5)), test: await readCifar(paths.slice(5)) })
  }
}
