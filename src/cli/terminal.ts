import { createColors } from 'picocolors'
import { isWithoutTerminal } from '../hosts/launcher.js'

type Environment = Readonly<Record<string, string | undefined>>

interface Output {
  readonly isTTY?: boolean
}

/** Whether what has been written can be overwritten: on a terminal that moves its cursor. */
export function hasCursor({ isTTY = false }: Output, env: Environment = process.env): boolean {
  return isTTY && env['TERM'] !== 'dumb' && !isWithoutTerminal(env)
}

/**
 * Whether text has colours: on a terminal. NO_COLOR with any value switches them off everywhere (no-color.org); FORCE_COLOR with any value but 0 switches
 * them on elsewhere too.
 */
export function hasColours(output: Output, env: Environment = process.env): boolean {
  const isSet = (name: string) => (env[name] ?? '') !== ''
  if (isSet('NO_COLOR')) return false
  return isSet('FORCE_COLOR') ? env['FORCE_COLOR'] !== '0' : hasCursor(output, env)
}

/** For text on stdout. */
export const colours = createColors(hasColours(process.stdout))
