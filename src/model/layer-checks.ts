import { ArbalestError, shown } from '../errors.js'
import type { Pair } from './layer.js'

/** (20, 12, 12) */
export function shownShape(shape: readonly number[]): string {
  return `(${shape.join(', ')})`
}

/** What a layer received cannot be its input. `shape` is one sample's. */
export function shapeMismatch(layer: string, shape: readonly number[], fix: string): ArbalestError {
  return new ArbalestError('SHAPE_MISMATCH', `layer ${layer}: received input ${shownShape(shape)}; ${fix}`, {
    data: { layer, received: shape }
  })
}

export function invalidLayer(layer: string, parameter: string, received: unknown, fix: string): ArbalestError {
  return new ArbalestError('INVALID_MODEL', `layer ${layer}: ${parameter}: received ${shown(received)}; ${fix}`, {
    data: { layer, parameter, received }
  })
}

/** The largest whole number that the engine takes. */
const MOST = 2 ** 31 - 1

export function wholeNumber(layer: string, parameter: string, value: number, least: number): number {
  // What a JavaScript caller gives may be anything, and a symbol cannot be compared.
  if (typeof value === 'number' && value > MOST) throw invalidLayer(layer, parameter, value, `use at most ${MOST}`)
  if (!Number.isSafeInteger(value) || value < least) throw invalidLayer(layer, parameter, value, `use a whole number of at least ${least}`)
  return value
}

/** A number, neither text nor beyond what a float holds, of which `holds` is true: `wanted` says what that is. */
export function realNumber(layer: string, parameter: string, value: unknown, wanted: string, holds: (value: number) => boolean): number {
  if (typeof value === 'number' && Number.isFinite(Math.fround(value)) && holds(value)) return value
  throw invalidLayer(layer, parameter, value, `use a number ${wanted}`)
}

export function truth(layer: string, parameter: string, value: unknown): boolean {
  if (typeof value === 'boolean') return value
  throw invalidLayer(layer, parameter, value, 'use true or false')
}

/** A number for both directions, or [vertical, horizontal]. */
export function pairOf(layer: string, parameter: string, value: Pair, least: number): [number, number] {
  const pair: readonly [number, number] = typeof value === 'number' ? [value, value] : value
  if (!Array.isArray(pair) || pair.length !== 2) throw invalidLayer(layer, parameter, value, 'use a number or a pair of numbers')
  return [wholeNumber(layer, parameter, pair[0], least), wholeNumber(layer, parameter, pair[1], least)]
}

export interface Window {
  readonly kernel: [number, number]
  readonly stride: [number, number]
  readonly padding: [number, number]
  /** Between the pixels of neighbouring weights; 1 if left out. */
  readonly dilation?: [number, number]
}

/** How many windows fit into (..., H, W) in each direction; a rest at the end is left out. */
export function windowsOf(
  layer: string,
  sample: readonly number[],
  { kernel, stride, padding, dilation = [1, 1] }: Window
): [number, number] {
  const along = (axis: 0 | 1): number => {
    const extent = sample[1 + axis]! + 2 * padding[axis]
    const window = dilation[axis] * (kernel[axis] - 1) + 1
    if (window > extent) {
      const dilated = Math.max(...dilation) > 1 ? ` with dilation ${shownShape(dilation)}` : ''
      throw shapeMismatch(layer, sample, `its kernel ${shownShape(kernel)}${dilated} does not fit: use a smaller kernel or more padding`)
    }
    return Math.floor((extent - window) / stride[axis]) + 1
  }
  return [along(0), along(1)]
}
