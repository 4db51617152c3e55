import { keyOf, philox } from '../../src/model/philox.js'
import type { Problem } from './problem.js'

/** What an implementation did with a problem; vectors are canonical. */
export interface Trace {
  /** Of each step. */
  readonly losses: readonly number[]
  /** Of the first step. */
  readonly gradients: ArrayLike<number>
  /** The weights after the last step. */
  readonly trained: ArrayLike<number>
}

/** Projections of each part: enough to tell a vector's distance from another to a fifth or so, in a few kilobytes. */
export const PROJECTIONS = 8

/**
 * Sums of a vector's elements under random signs, PROJECTIONS of them for each parameter. The mean square of the differences between the
 * projections of two vectors is an unbiased estimate of their squared distance (Achlioptas, PODS 2001).
 */
export function project(problem: Problem, vector: ArrayLike<number>): number[][] {
  let element = 0
  let words: readonly number[] = []
  return problem.parameters.map(({ shape }) => {
    const sums = Array.from({ length: PROJECTIONS }, () => 0)
    const end = element + shape.reduce((product, extent) => product * extent, 1)
    for (; element < end; element++) {
      // One block of the generator gives the eight signs of sixteen neighbours.
      if (element % 16 === 0) words = philox(keyOf(0), [element / 16, 0, 0, 1])
      const signs = words[(element >>> 2) & 3]! >>> (8 * (element & 3))
      for (let j = 0; j < PROJECTIONS; j++) sums[j]! += (signs >>> j) & 1 ? vector[element]! : -vector[element]!
    }
    return sums
  })
}

/** Distances between two projected vectors: of each parameter, and of the whole. */
export function distances(a: readonly (readonly number[])[], b: readonly (readonly number[])[]): { each: number[]; whole: number } {
  const squares = a.map((sums, parameter) => sums.reduce((sum, value, j) => sum + (value - b[parameter]![j]!) ** 2, 0) / PROJECTIONS)
  return { each: squares.map(Math.sqrt), whole: Math.sqrt(squares.reduce((sum, square) => sum + square, 0)) }
}

/** The largest distance between two curves. */
export function drift(a: readonly number[], b: readonly number[]): number {
  return Math.max(...a.map((value, step) => Math.abs(value - b[step]!)))
}
