import type { Command } from 'commander'
import { realNumber, wholeNumber } from './flag-values.js'

/** What commander makes of the flags that size a model of the zoo. */
export interface SizeFlags {
  readonly layers?: number
  readonly heads?: number
  readonly width?: number
  readonly dropout?: number
}

export function addSizeFlags(command: Command): void {
  const whole = (flag: string, value: string, text: string) => command.option(`--${flag} <${value}>`, text, wholeNumber(`--${flag}`))
  whole('layers', 'count', 'of gpt: blocks of attention and feed-forward network (4)')
  whole('heads', 'count', 'of gpt: heads of each attention (4)')
  whole('width', 'features', 'of gpt: features of a position, a multiple of the heads (128)')
  command.option('--dropout <share>', 'of gpt: share of the features that dropout leaves out (0)', realNumber('--dropout'))
}
