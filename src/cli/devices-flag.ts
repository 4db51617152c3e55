import type { TrainOptions } from '../index.js'
import { refusal, wholeNumber } from './numbers.js'

type Devices = NonNullable<TrainOptions['devices']>

/** The value of `--devices`: how many, or the cores of each, as `0-3:4-7` or `0,2:1,3`. Throws INVALID_OPTION. */
export function devicesFlag(text: string): Devices {
  if (!/[:,-]/.test(text)) return wholeNumber('--devices')(text)
  return text.split(':').map((cores) => ({ cores: cores.split(',').flatMap((run) => coresOf(run, text)) }))
}

function coresOf(run: string, text: string): number[] {
  const [, first, last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(run) ?? []
  if (first === undefined || Number(last) < Number(first))
    throw refusal('--devices', text, 'use a number, or the cores of each device, as 0-3:4-7')
  return Array.from({ length: Number(last) - Number(first) + 1 }, (_, i) => Number(first) + i)
}
