import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import sharp, { type Sharp } from 'sharp'
import { Random } from '../../../src/data/random.js'

/** What is in the pictures of each class: a bright figure on a dark ground, told apart by its colour alone or by its place alone. */
const CLASSES = {
  dawn: { colour: [230, 60, 40], top: true },
  noon: { colour: [60, 220, 70], top: true },
  dusk: { colour: [50, 80, 230], top: false }
} as const

export type PhotoClass = keyof typeof CLASSES
export const PHOTO_CLASSES = Object.keys(CLASSES).sort() as PhotoClass[]

/** A picture of the class: the same for the same number, of a size of its own. */
export function photo(of: PhotoClass, number: number): Sharp {
  const random = new Random(number, PHOTO_CLASSES.indexOf(of))
  const [width, height] = [24 + random.below(40), 24 + random.below(40)]
  const { colour, top } = CLASSES[of]
  const pixels = Buffer.alloc(width * height * 3)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const bright = top === y < height / 2 ? 1 : 0.3
      for (let c = 0; c < 3; c++) pixels[(y * width + x) * 3 + c] = Math.min(255, bright * colour[c]! + random.below(25))
    }
  return sharp(pixels, { raw: { width, height, channels: 3 } })
}

/** Writes `count` pictures of each class, JPEG, PNG and WebP by turns, into `folder/<class>`. */
export async function writePhotos(folder: string, count: number, first = 0): Promise<void> {
  for (const of of PHOTO_CLASSES) {
    await mkdir(join(folder, of), { recursive: true })
    for (let i = first; i < first + count; i++) {
      const ending = ['jpg', 'png', 'webp'][i % 3]!
      const path = join(folder, of, `${String(i).padStart(4, '0')}.${ending}`)
      await mkdir(dirname(path), { recursive: true })
      await photo(of, i).toFile(path)
    }
  }
}
