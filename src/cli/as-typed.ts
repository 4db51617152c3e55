import type { Command } from 'commander'
import { ArbalestError, faultsOf, invalidOption, together, type OptionFault } from '../errors.js'

/** How the options of an error are called on the command line. */
export interface TypedNames {
  /** The flag of the option at a path; undefined if no flag gave it. */
  readonly nameOf: (path: string) => string | undefined
  /** The config, which has the options that no flag gave; of several the one of a path. */
  readonly file?: string | ((path: string) => string | undefined) | undefined
}

/** The same error, with every option called as it was typed: by its flag, or by its place in the config's file. */
export function asTyped(error: unknown, { nameOf, file }: TypedNames): unknown {
  if (!(error instanceof ArbalestError)) return error
  const typed = faultsOf(error).map(({ path, received, fix }): OptionFault => {
    const flag = nameOf(path)
    const config = typeof file === 'function' ? file(path) : file
    return { path: flag ?? path, received, fix: flag === undefined && config !== undefined ? `${fix} (${config})` : fix }
  })
  const [first, ...others] = typed.map(({ path, received, fix }) => invalidOption(path, received, fix))
  if (!first) return withParameter(error, nameOf)
  const { message } = together([first, ...others])
  return new ArbalestError(error.code, message, { cause: error, data: { ...error.data, parameter: typed[0]!.path, faults: typed } })
}

/** The result of `work`. Its errors name an option by the command's flag of that name, or by the one of `others`, if it was given. */
export async function withFlagsOf<Result>(
  command: Command,
  work: Promise<Result>,
  others: Readonly<Record<string, string>> = {}
): Promise<Result> {
  const nameOf = (path: string) => {
    // Of a list, a member may be at fault: `metrics[0]`.
    const [option, member] = [path.replace(/\[.*/, ''), /\[.*/.exec(path)?.[0] ?? '']
    const name = others[option] ?? option
    const flag = command.options.find((each) => each.attributeName() === name)
    return !flag || command.getOptionValue(name) === undefined ? undefined : `${flag.long}${member}`
  }
  try {
    return await work
  } catch (error) {
    throw asTyped(error, { nameOf })
  }
}

/** An error that is no refusal of options, and names one only at the beginning of its message: `checkpoint.dir: received kept; ...`. */
function withParameter(error: ArbalestError, nameOf: TypedNames['nameOf']): ArbalestError {
  const { parameter = /^[\w.[\]]+(?=: received )/.exec(error.message)?.[0] } = error.data
  const flag = typeof parameter === 'string' && error.message.startsWith(`${parameter}: `) ? nameOf(parameter) : undefined
  if (flag === undefined) return error
  const message = `${flag}${error.message.slice((parameter as string).length)}`
  return new ArbalestError(error.code, message, { cause: error, data: { ...error.data, parameter: flag } })
}
