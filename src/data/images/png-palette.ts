import { crc32 } from 'node:zlib'

/** A PNG with a palette, whose pixels are numbers of colours. */
export interface Indexed {
  /** Each by its three bytes as a number, in the order of the palette. */
  readonly colours: readonly number[]
  /** The same PNG in which each colour is the grey of its number: decoders give colours, and several numbers may have the same one. */
  readonly numbered: Uint8Array
}

const SIGNATURE_BYTES = 8
/** Of a chunk: its length, its name, and behind its data a checksum of the name and the data. */
const CHUNK = { name: 4, data: 8, checksum: 4 } as const

/** The palette of a PNG; undefined for another image. */
export function indexed(bytes: Uint8Array): Indexed | undefined {
  const file = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const parts = [file.subarray(0, SIGNATURE_BYTES)]
  let colours: readonly number[] | undefined
  for (let at = SIGNATURE_BYTES; at + CHUNK.data <= file.length;) {
    const [length, name] = [file.readUInt32BE(at), file.toString('latin1', at + CHUNK.name, at + CHUNK.data)]
    const chunk = file.subarray(at, at + CHUNK.data + length + CHUNK.checksum)
    at += chunk.length
    if (name === 'PLTE') {
      const data = chunk.subarray(CHUNK.data, CHUNK.data + length)
      colours = Array.from({ length: Math.floor(data.length / 3) }, (_, i) => colourAt(data, i))
      parts.push(paletteOfNumbers(colours.length))
    } else if (name !== 'tRNS') parts.push(chunk)
  }
  return colours && { colours, numbered: Buffer.concat(parts) }
}

/** The colour of a pixel, or of a palette: its three bytes as a number. */
export function colourAt(colours: Uint8Array, at: number): number {
  return packed([colours[3 * at]!, colours[3 * at + 1]!, colours[3 * at + 2]!])
}

export function packed([red, green, blue]: readonly [number, number, number]): number {
  return (red << 16) | (green << 8) | blue
}

function paletteOfNumbers(count: number): Buffer {
  const chunk = Buffer.alloc(CHUNK.data + 3 * count + CHUNK.checksum)
  const end = chunk.length - CHUNK.checksum
  chunk.writeUInt32BE(3 * count)
  chunk.write('PLTE', CHUNK.name, 'latin1')
  for (let i = 0; i < count; i++) chunk.fill(i, CHUNK.data + 3 * i, CHUNK.data + 3 * (i + 1))
  chunk.writeUInt32BE(crc32(chunk.subarray(CHUNK.name, end)), end)
  return chunk
}
