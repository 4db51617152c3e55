import type { GroupStatus, Handle } from './contract.js'

/**
 * Writes the numbers of a status, as many as there is room for, and returns how many there are: round, iterations, position, the first iteration whose loss
 * is not finite, how many members there are, then the members and those that have arrived.
 */
export type ReadGroupStatus = (group: Handle, numbers: Float64Array) => number

const FIRST_MEMBER = 5

/** Numbers that are read again and again: an object that native code makes costs ten times as much, by the names of its properties. */
let numbers = new Float64Array(64)

export function groupStatusBy(read: ReadGroupStatus): (group: Handle) => GroupStatus {
  return (group) => {
    let length: number
    while ((length = read(group, numbers)) > numbers.length) numbers = new Float64Array(2 * length)
    const firstArrived = FIRST_MEMBER + numbers[4]!
    return {
      round: numbers[0]!,
      iterations: numbers[1]!,
      position: numbers[2]!,
      members: learners(FIRST_MEMBER, firstArrived),
      arrived: learners(firstArrived, length),
      notFiniteAt: numbers[3]!
    }
  }
}

function learners(from: number, to: number): number[] {
  const result: number[] = []
  for (let i = from; i < to; i++) result.push(numbers[i]!)
  return result
}
