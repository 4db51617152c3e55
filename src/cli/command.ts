import type { Command } from 'commander'
import type { ExitCode } from './exit.js'
import type { OutputLoss } from './output-loss.js'

/** What `main` gives to a command. */
export interface CommandContext {
  /** The version of the package. */
  readonly version: string
  readonly output: OutputLoss
  /** Sets the exit code of the process. */
  readonly finish: (code: ExitCode) => void
}

/** Adds the arguments, flags and action of a command. Each command is a module of its own, so that only the one that runs is loaded. */
export type DefineCommand = (command: Command, context: CommandContext) => void

/** The flags that all commands have; `main` reads --stack from the arguments. */
export interface CommonFlags {
  readonly json?: boolean
  readonly stack?: boolean
}

/** The end of each command's help. */
export const EXIT_CODES_HELP = `
Exit codes: 0 done, 1 failed, 2 wrong usage; stopped: 129 by SIGHUP,
130 by SIGINT, 131 by SIGQUIT, 143 by SIGTERM; 141 stdout was closed.`
