/** A changed copy of every test image, and the weight of its logits. */
export interface Copy {
  readonly mirrored: boolean
  /** Pixels by which the image is moved to the right and down; the border is filled with its mirror image. */
  readonly shift: number
  readonly weight: number
}

/** The copies by which airbench94 measures: half of the weight is the image's, and half that of the image moved along the diagonal; each with its mirror image. */
export const COPIES: readonly Copy[] = [
  { shift: 0, weight: 1 / 4 },
  { shift: 1, weight: 1 / 8 },
  { shift: -1, weight: 1 / 8 }
].flatMap((copy) => [false, true].map((mirrored) => ({ ...copy, mirrored })))

/** The images (count, C, H, W), each changed in the same way. */
export function changed(
  images: Uint8Array,
  [, height, width]: readonly [number, number, number],
  { mirrored, shift }: Pick<Copy, 'mirrored' | 'shift'>
): Uint8Array {
  const moved = new Uint8Array(images.length)
  const columns = Array.from({ length: width }, (_, x) => {
    const from = reflected(x - shift, width)
    return mirrored ? width - 1 - from : from
  })
  const rows = images.length / width
  for (let row = 0; row < rows; row++) {
    const y = row % height
    const from = (row - y + reflected(y - shift, height)) * width
    const to = row * width
    for (let x = 0; x < width; x++) moved[to + x] = images[from + columns[x]!]!
  }
  return moved
}

/** A position beyond the edge is that of the pixel as far within it; the edge itself is not repeated. */
function reflected(at: number, length: number): number {
  if (at < 0) return -at
  return at < length ? at : 2 * (length - 1) - at
}

/** The share of samples whose label has the highest output. */
export function accuracyOf(outputs: Float32Array, labels: Int32Array): number {
  const classes = outputs.length / labels.length
  let right = 0
  for (const [sample, label] of labels.entries()) {
    const own = outputs.subarray(sample * classes, (sample + 1) * classes)
    if (own.indexOf(Math.max(...own)) === label) right++
  }
  return right / labels.length
}

/** Outputs for images, in the order of the images. */
export type Predict = (images: Uint8Array) => Promise<Float32Array>

/** The accuracy by the weighted outputs of all copies of each image. */
export async function accuracyByCopies(
  predict: Predict,
  {
    images,
    shape,
    labels
  }: { readonly images: Uint8Array; readonly shape: readonly [number, number, number]; readonly labels: Int32Array },
  copies: readonly Copy[] = COPIES
): Promise<number> {
  let sum: Float32Array | undefined
  for (const copy of copies) {
    const outputs = await predict(changed(images, shape, copy))
    sum ??= new Float32Array(outputs.length)
    for (const [i, output] of outputs.entries()) sum[i]! += copy.weight * output
  }
  return accuracyOf(sum!, labels)
}
