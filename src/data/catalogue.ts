import type { DatasetTraits, StoredDataset } from './dataset.js'
import { CIFAR_100_TEST, CIFAR_100_TRAIN, readCifar } from './cifar.js'
import { GROUPS, SPECIES } from './cifar-100-names.js'
import { readIdxPair } from './idx.js'
import type { PackedFile } from './locate.js'

/** What is known of a data set before its files are read. */
export interface Recipe extends DatasetTraits {
  /** Where its archives unpack to, below the directory given. */
  readonly folders: readonly string[]
  readonly files: readonly PackedFile[]
  /** Reads the files found for `files`, in their order. */
  read(paths: readonly string[]): Promise<Pick<StoredDataset, 'train' | 'test'>>
}

const DIGITS = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']

const GARMENTS = ['T-shirt/top', 'trouser', 'pullover', 'dress', 'coat', 'sandal', 'shirt', 'sneaker', 'bag', 'ankle boot']

const THINGS = ['airplane', 'automobile', 'bird', 'cat', 'deer', 'dog', 'frog', 'horse', 'ship', 'truck']

/** Four zero pixels around, a random crop and a random flip: He, Zhang, Ren and Sun, CVPR 2016. */
const CROP_AND_FLIP = { padding: 4, flip: true }

/** The published data sets, with the customary mean and deviation of their training pixels. */
export const CATALOGUE: ReadonlyMap<string, Recipe> = new Map<string, Recipe>([
  ['mnist', greyImages(['mnist', 'MNIST/raw'], DIGITS, 0.1307, 0.3081)],
  ['fashion-mnist', greyImages(['fashion-mnist', 'FashionMNIST/raw'], GARMENTS, 0.286, 0.353)],
  ['cifar-10', cifar10()],
  ['cifar-100', cifar100(1, SPECIES)],
  ['cifar-100-coarse', cifar100(0, GROUPS)]
])

/** The texts, by the file that holds each. */
export const TEXTS: ReadonlyMap<string, Pick<Recipe, 'folders' | 'files'>> = new Map([
  ['tinyshakespeare', { folders: ['tinyshakespeare'], files: [{ name: 'input.txt', packed: [] }] }]
])

function greyImages(folders: readonly string[], classNames: readonly string[], mean: number, deviation: number): Recipe {
  const sample = [1, 28, 28]
  const classes = classNames.length
  const files = ['train-images-idx3', 'train-labels-idx1', 't10k-images-idx3', 't10k-labels-idx1'].map((name) => ({
    name: `${name}-ubyte`,
    packed: ['.gz']
  }))
  return {
    sample,
    classes,
    classNames,
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
    classes: THINGS.length,
    classNames: THINGS,
    mean: [0.4914, 0.4822, 0.4465],
    deviation: [0.247, 0.2435, 0.2616],
    augmentation: CROP_AND_FLIP,
    folders: ['cifar-10', 'cifar-10-batches-bin'],
    files: batches.map((name) => ({ name: `${name}.bin`, packed: ['.gz', '.xz'] })),
    read: async (paths) => ({ train: await readCifar(paths.slice(0, 5)), test: await readCifar(paths.slice(5)) })
  }
}

/** The hundred classes by their fine label (1), or their twenty groups by the coarse one (0). */
function cifar100(taken: 0 | 1, classNames: readonly string[]): Recipe {
  return {
    sample: [3, 32, 32],
    classes: classNames.length,
    classNames,
    mean: [0.5071, 0.4865, 0.4409],
    deviation: [0.2673, 0.2564, 0.2762],
    augmentation: CROP_AND_FLIP,
    folders: ['cifar-100', 'cifar-100-binary'],
    files: ['train.bin', 'test.bin'].map((name) => ({ name, packed: ['.gz', '.xz'] })),
    read: async ([train, test]) => ({
      train: await readCifar([train!], { ...CIFAR_100_TRAIN, taken }),
      test: await readCifar([test!], { ...CIFAR_100_TEST, taken })
    })
  }
}
