import type { Command } from 'commander'
import { ArbalestError, unknownName } from '../errors.js'

/** What is wrong with arguments that commander answers with help alone: they name no command, or ask for the help of one that is not there. */
export function missingCommand(program: Command, argv: readonly string[]): ArbalestError {
  const words = argv.filter((word) => !word.startsWith('-'))
  const group = program.commands.find((command) => command.name() === words[0])
  const parameter = group?.name() ?? 'command'
  const names = (group ?? program).commands.map((command) => command.name())
  const help = words.indexOf('help')
  if (help >= 0) return unknownName(parameter, words[help + 1], names)
  return new ArbalestError('INVALID_OPTION', `${parameter}: received none; use one of ${names.join(', ')}`, { data: { parameter } })
}
