import { NO_AUGMENTATION, type Augmentation } from '../model/augmentation.js'
import type { DatasetTraits, StoredDataset } from './dataset.js'

/** A file of a data set. */
export interface CompressibleFile {
  /** The name of the decompressed file, which is tried first. */
  readonly name: string
  /** The extensions of its compressed forms. */
  readonly compressed: readonly string[]
}

/** A published data set: its properties, its files, and how they are read. */
export interface PublishedDataset extends DatasetTraits {
  /** The folders to which its archives unpack, below the directory that the user gives. */
  readonly folders: readonly string[]
  readonly files: readonly CompressibleFile[]
  /** Reads the data set from the paths of `files`, in their order. */
  read(paths: readonly string[]): Promise<Pick<StoredDataset, 'train' | 'test'>>
}

const DIGITS = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']

const GARMENTS = ['T-shirt/top', 'trouser', 'pullover', 'dress', 'coat', 'sandal', 'shirt', 'sneaker', 'bag', 'ankle boot']

const VEHICLES_AND_ANIMALS = ['airplane', 'automobile', 'bird', 'cat', 'deer', 'dog', 'frog', 'horse', 'ship', 'truck']

const list = (text: string): readonly string[] => text.trim().split(/,\s+/)

/** The 100 classes of CIFAR-100, in the order of their fine labels. */
export const FINE_CLASSES = list(`
  apple, aquarium fish, baby, bear, beaver, bed, bee, beetle, bicycle, bottle, bowl, boy, bridge, bus, butterfly, camel, can, castle, caterpillar,
  cattle, chair, chimpanzee, clock, cloud, cockroach, couch, crab, crocodile, cup, dinosaur, dolphin, elephant, flatfish, forest, fox, girl, hamster,
  house, kangaroo, keyboard, lamp, lawn mower, leopard, lion, lizard, lobster, man, maple tree, motorcycle, mountain, mouse, mushroom, oak tree,
  orange, orchid, otter, palm tree, pear, pickup truck, pine tree, plain, plate, poppy, porcupine, possum, rabbit, raccoon, ray, road, rocket, rose,
  sea, seal, shark, shrew, skunk, skyscraper, snail, snake, spider, squirrel, streetcar, sunflower, sweet pepper, table, tank, telephone, television,
  tiger, tractor, train, trout, tulip, turtle, wardrobe, whale, willow tree, wolf, woman, worm`)

/** The 20 superclasses of CIFAR-100, of five classes each, in the order of the coarse labels. */
export const SUPERCLASSES = list(`
  aquatic mammals, fish, flowers, food containers, fruit and vegetables, household electrical devices, household furniture, insects,
  large carnivores, large man-made outdoor things, large natural outdoor scenes, large omnivores and herbivores, medium-sized mammals,
  non-insect invertebrates, people, reptiles, small mammals, trees, vehicles 1, vehicles 2`)

/** Zero padding of four pixels, a random crop and a random flip: He, Zhang, Ren and Sun, CVPR 2016. */
const CROP_AND_FLIP: Augmentation = { padding: 4, flip: true }

/** The published data sets, with the usual mean and standard deviation of their training pixels. */
export const CATALOGUE: ReadonlyMap<string, PublishedDataset> = new Map<string, PublishedDataset>([
  ['mnist', greyImages(['mnist', 'MNIST/raw'], DIGITS, 0.1307, 0.3081)],
  ['fashion-mnist', greyImages(['fashion-mnist', 'FashionMNIST/raw'], GARMENTS, 0.286, 0.353)],
  ['cifar-10', cifar10()],
  ['cifar-100', cifar100(1, FINE_CLASSES)],
  ['cifar-100-coarse', cifar100(0, SUPERCLASSES)]
])

/** The published texts and their files. */
export const TEXTS: ReadonlyMap<string, Pick<PublishedDataset, 'folders' | 'files'>> = new Map([
  ['tinyshakespeare', { folders: ['tinyshakespeare'], files: [{ name: 'input.txt', compressed: [] }] }]
])

function greyImages(folders: readonly string[], classNames: readonly string[], mean: number, std: number): PublishedDataset {
  const sample = [1, 28, 28]
  const classes = classNames.length
  const files = ['train-images-idx3', 'train-labels-idx1', 't10k-images-idx3', 't10k-labels-idx1'].map((name) => ({
    name: `${name}-ubyte`,
    compressed: ['.gz']
  }))
  return {
    sample,
    classes,
    classNames,
    mean: [mean],
    std: [std],
    augmentation: NO_AUGMENTATION,
    folders,
    files,
    async read([trainImages, trainLabels, testImages, testLabels]) {
      const { readIdxPair } = await import('./idx.js')
      return {
        train: await readIdxPair(trainImages!, trainLabels!, sample, classes),
        test: await readIdxPair(testImages!, testLabels!, sample, classes)
      }
    }
  }
}

function cifar10(): PublishedDataset {
  const batches = ['data_batch_1', 'data_batch_2', 'data_batch_3', 'data_batch_4', 'data_batch_5', 'test_batch']
  return {
    sample: [3, 32, 32],
    classes: VEHICLES_AND_ANIMALS.length,
    classNames: VEHICLES_AND_ANIMALS,
    mean: [0.4914, 0.4822, 0.4465],
    std: [0.247, 0.2435, 0.2616],
    augmentation: CROP_AND_FLIP,
    folders: ['cifar-10', 'cifar-10-batches-bin'],
    files: batches.map((name) => ({ name: `${name}.bin`, compressed: ['.gz', '.xz'] })),
    async read(paths) {
      const { readCifar } = await import('./cifar.js')
      return { train: await readCifar(paths.slice(0, 5)), test: await readCifar(paths.slice(5)) }
    }
  }
}

/** `labelIndex` 1 selects the fine label of each record, with 100 classes; 0 the coarse label, with 20 superclasses. */
function cifar100(labelIndex: 0 | 1, classNames: readonly string[]): PublishedDataset {
  return {
    sample: [3, 32, 32],
    classes: classNames.length,
    classNames,
    mean: [0.5071, 0.4865, 0.4409],
    std: [0.2673, 0.2564, 0.2762],
    augmentation: CROP_AND_FLIP,
    folders: ['cifar-100', 'cifar-100-binary'],
    files: ['train.bin', 'test.bin'].map((name) => ({ name, compressed: ['.gz', '.xz'] })),
    async read([train, test]) {
      const { CIFAR_100_TEST, CIFAR_100_TRAIN, readCifar } = await import('./cifar.js')
      return {
        train: await readCifar([train!], { ...CIFAR_100_TRAIN, labelIndex }),
        test: await readCifar([test!], { ...CIFAR_100_TEST, labelIndex })
      }
    }
  }
}
