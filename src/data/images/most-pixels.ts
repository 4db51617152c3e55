/** 33 megapixels: about 300 MB while an image is decoded. */
const BELIEVED = 2 ** 25
/** Deflate's ceiling for pixels of a byte each, which is what flat colour comes to in the other formats. */
const PIXELS_OF_A_BYTE = 1032
/** What libvips takes at all. */
const MOST = 0x3fff ** 2

/** So many pixels a file of `bytes` bytes may have: a forged header must not cost gigabytes. */
export function mostPixels(bytes: number): number {
  return Math.min(MOST, Math.max(BELIEVED, PIXELS_OF_A_BYTE * bytes))
}
