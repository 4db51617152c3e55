import { keyOf, philox, type Words4 } from '../../../src/model/philox.js'

/** The streams of native/src/core/random.h. */
const ORDER = 1
const AUGMENT = 2
const FLIP = 6
const CUTOUT = 7
const MIX = 8

export interface LoadAttributes {
  readonly padding: number
  /** 0: zeros; 1: the image's mirror image. */
  readonly border: number
  /** 0: never; 1: at random; 2: at random in the first epoch, then in every other one. */
  readonly flip: number
  /** The side of a square of zeros. */
  readonly cutout?: number
  readonly mixup?: number
  readonly cutmix?: number
  readonly shuffled: number
  readonly mean: readonly number[]
  readonly std: readonly number[]
}

export interface Samples {
  readonly count: number
  /** (C, H, W) or (F). */
  readonly sample: readonly number[]
  readonly samples: Uint8Array | Float32Array
}

/** A second writing of what `load` promises: the sample at a position, cropped, flipped, normalised and with a square of zeros, with its place in the data. */
export function loaded(data: Samples, attributes: LoadAttributes, seed: number, position: number): { index: number; x: number[] } {
  const { padding, border, flip, cutout = 0, shuffled, mean, std } = attributes
  const [channels, height, width] = [data.sample[0]!, data.sample[1] ?? 1, data.sample[2] ?? 1]
  const epoch = Math.floor(position / data.count)
  const place = position % data.count
  const index = shuffled ? permuted(seed, epoch, place, data.count) : place
  const random = philox(keyOf(seed), [position, 0, AUGMENT, 0])
  const [rows, columns] = [0, 1].map((axis) => Math.floor((random[axis]! * (2 * padding + 1)) / 2 ** 32) - padding) as [number, number]
  const atFirst = philox(keyOf(seed), [index, 0, FLIP, 0])[0] >= 2 ** 31
  const flipped = flip === 2 ? atFirst !== (epoch % 2 === 1) : flip === 1 && random[2] >= 2 ** 31
  const centre = philox(keyOf(seed), [position, 0, CUTOUT, 0])
  const [top, left] = [height, width].map((side, axis) => Math.floor((centre[axis]! * side) / 2 ** 32) - Math.floor(cutout / 2)) as [
    number,
    number
  ]
  const isCut = (h: number, w: number): boolean => h >= top && h < top + cutout && w >= left && w < left + cutout
  const [fromRow, fromColumn] = border === 1 ? [mirrored(height), mirrored(width)] : [itself, itself]
  const x: number[] = []
  for (let c = 0; c < channels; c++) {
    const [shift, scale] = [ofChannel(mean, c, 0), ofChannel(std, c, 1)]
    for (let h = 0; h < height; h++) {
      for (let w = 0; w < width; w++) {
        const row = fromRow(h + rows)
        const column = fromColumn((flipped ? width - 1 - w : w) + columns)
        const inside = row >= 0 && row < height && column >= 0 && column < width
        const raw = inside ? data.samples[((index * channels + c) * height + row) * width + column]! : 0
        if (isCut(h, w)) x.push(0)
        else x.push(((data.samples instanceof Uint8Array ? raw / 255 : raw) - shift) / scale)
      }
    }
  }
  return { index, x }
}

/** What an image of a pair keeps: a share of its target and, if they are blended, of its pixels; else all but a rectangle. */
export interface Mix {
  readonly own: number
  readonly blends: boolean
  /** Whether cutmix gives it the other image's pixel. */
  takes(row: number, column: number): boolean
}

/** A second writing of native/src/data/mix.h, for the pair of images (H, W) whose first one stands at a position. */
export function mixOf({ mixup = 0, cutmix = 0 }: LoadAttributes, seed: number, position: number, height: number, width: number): Mix {
  const random = philox(keyOf(seed), [position, 0, MIX, 0])
  const blends = cutmix === 0 || (mixup > 0 && random[2] >= 2 ** 31)
  const share = symmetricBeta(blends ? mixup : cutmix, seed, position)
  if (blends) return { own: share, blends, takes: () => false }
  const side = (length: number, word: number): [number, number] => {
    const [centre, half] = [Math.floor((word * length) / 2 ** 32), Math.floor(Math.floor(Math.sqrt(1 - share) * length) / 2)]
    return [Math.max(0, centre - half), Math.min(length, centre + half)]
  }
  const [[top, bottom], [left, right]] = [side(height, random[0]), side(width, random[1])]
  return {
    own: 1 - ((bottom - top) * (right - left)) / (height * width),
    blends,
    takes: (row, column) => row >= top && row < bottom && column >= left && column < right
  }
}

/** Jöhnk's draw: the first pair u, v for which u^(1/a) + v^(1/a) is at most 1. */
function symmetricBeta(a: number, seed: number, position: number): number {
  for (let attempt = 1; ; attempt++) {
    const [u, v] = philox(keyOf(seed), [position, 0, attempt * 256 + MIX, 0]).map((word) => (((word ?? 0) >>> 8) + 1) / 2 ** 24) as [
      number,
      number
    ]
    const [x, y] = [u ** (1 / a), v ** (1 / a)]
    if (x + y <= 1) return x / (x + y)
  }
}

const itself = (at: number): number => at

/** The pixels of a side repeat with twice its steps: there and back, without its two ends. */
const mirrored = (length: number) => (at: number) => {
  const period = 2 * (length - 1)
  const place = ((at % period) + period) % period
  return Math.min(place, period - place)
}

const ofChannel = (values: readonly number[], c: number, otherwise: number): number => values[values.length === 1 ? 0 : c] ?? otherwise

/** A Feistel network of four rounds over the smallest even number of bits that holds `count`, walked until it falls below `count`. */
function permuted(seed: number, epoch: number, place: number, count: number): number {
  let half = 1
  while (4 ** half < count) half++
  const side = 2 ** half
  let index = place
  do {
    let [left, right] = [Math.floor(index / side), index % side]
    for (let round = 0; round < 4; round++) {
      const counter: Words4 = [right * 4 + round, 0, epoch * 256 + ORDER, 0]
      ;[left, right] = [right, (left ^ (philox(keyOf(seed), counter)[0] % side)) >>> 0]
    }
    index = left * side + right
  } while (index >= count)
  return index
}
