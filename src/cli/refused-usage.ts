import type { CommanderError } from 'commander'
import { ArbalestError } from '../errors.js'

/** Commander's codes of unknown names. */
const UNKNOWN: readonly string[] = ['commander.unknownCommand', 'commander.unknownOption']

export function isUnknownOption({ code }: CommanderError): boolean {
  return code === 'commander.unknownOption'
}

/** An error of commander as one of ours, with a fix of our own: without one it refers to the help of `command`, beside what commander guesses. */
export function refusedUsage(
  error: CommanderError,
  { command, fix }: { readonly command: string; readonly fix?: string | undefined }
): ArbalestError {
  const text = error.message.replace(/^error: |\.$/g, '').replaceAll(/\s*\n\s*/g, ' ')
  const code = UNKNOWN.includes(error.code) ? 'UNKNOWN_NAME' : 'INVALID_OPTION'
  const message = fix === undefined ? `${text}; see \`${command} --help\`` : `${text.replace(/ \(.*/, '')}; ${fix}`
  return new ArbalestError(code, message, { cause: error })
}

/** The same of the flags of `arbalest train`. `flagMeantBy` is the flag of an option that another library calls by the name that was typed. */
export function refusedTraining(error: CommanderError, flagMeantBy: (typed: string) => string | undefined): ArbalestError {
  const typed = isUnknownOption(error) ? /'(--[^'=]*)/.exec(error.message)?.[1] : undefined
  const meant = typed === undefined ? undefined : flagMeantBy(typed)
  return refusedUsage(error, { command: 'arbalest train', fix: meant && `use ${meant}` })
}
