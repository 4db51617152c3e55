import type { CommanderError, Option } from 'commander'
import { ArbalestError } from '../errors.js'

/** Commander's codes of unknown names. */
const UNKNOWN: readonly string[] = ['commander.unknownCommand', 'commander.unknownOption']

export function isUnknownOption({ code }: CommanderError): boolean {
  return code === 'commander.unknownOption'
}

interface RefusedCommand {
  /** As it is typed. */
  readonly command: string
  readonly options?: readonly Option[] | undefined
  /** Another fix than those that are found here. */
  readonly fix?: string | undefined
}

/** An error of commander as one of ours. Where no fix is known it refers to the help of the command, beside what commander guesses. */
export function refusedUsage(
  error: CommanderError,
  { command, options = [], fix = fixOfValue(error, options) }: RefusedCommand
): ArbalestError {
  const text = error.message.replace(/^error: |\.$/g, '').replaceAll(/\s*\n\s*/g, ' ')
  const code = UNKNOWN.includes(error.code) ? 'UNKNOWN_NAME' : 'INVALID_OPTION'
  const message = fix === undefined ? `${text}; see \`${command} --help\`` : `${text.replace(/ \(.*/, '')}; ${fix}`
  return new ArbalestError(code, message, { cause: error })
}

/** Of `--dashboard=true`, which commander does not know, though it knows `--dashboard`. */
function fixOfValue(error: CommanderError, options: readonly Option[]): string | undefined {
  const typed = isUnknownOption(error) ? /'(--[^'=]*)=/.exec(error.message)?.[1] : undefined
  const has = (name: string) => options.some(({ long }) => long === name)
  if (typed === undefined || !has(typed)) return undefined
  const opposite = typed.replace('--', '--no-')
  return `a flag that is true or false takes no value: use ${typed}${has(opposite) ? ` or ${opposite}` : ''}`
}

/** The same of the flags of `arbalest train`. `flagMeantBy` is the flag of an option that another library calls by the name that was typed. */
export function refusedTraining(
  error: CommanderError,
  options: readonly Option[],
  flagMeantBy: (typed: string) => string | undefined
): ArbalestError {
  const typed = isUnknownOption(error) ? /'(--[^'=]*)/.exec(error.message)?.[1] : undefined
  const meant = typed === undefined ? undefined : flagMeantBy(typed)
  return refusedUsage(error, { command: 'arbalest train', options, fix: meant && `use ${meant}` })
}
