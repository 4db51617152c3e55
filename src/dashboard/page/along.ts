import { countText, timeText } from './format.js'

/** What curves are drawn along. */
export interface Along {
  readonly name: string
  /** Of the axis, with its unit. */
  readonly title: string
  readonly text: (value: number) => string
  /** Between two marks of the axis. */
  readonly steps: readonly number[]
}

const WHOLE_STEPS = Array.from({ length: 12 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat()
export const TIME_STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 43_200, 86_400, 172_800, 604_800] as const

export const ITERATIONS: Along = { name: 'iteration', title: 'iteration', text: countText, steps: WHOLE_STEPS }
export const TIME: Along = { name: 'time', title: 'time since the run began, min:s', text: timeText, steps: TIME_STEPS }
