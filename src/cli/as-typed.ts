import { invalidOption, together } from '../errors.js'
import { ArbalestError, faultsOf, type OptionFault } from '../index.js'
import { flagOf, type TrainFlags } from './train-flags.js'

/** The same error, with every option called as it was typed: by its flag, or by its place in the config's file. */
export function asTyped(error: unknown, flags: TrainFlags | undefined, file: string | undefined): unknown {
  if (!(error instanceof ArbalestError)) return error
  const typed = faultsOf(error).map(({ path, received, fix: mend }): OptionFault => {
    const flag = flagOf(path, flags)
    return { path: flag ?? path, received, fix: flag === undefined && file !== undefined ? `${mend} (${file})` : mend }
  })
  const [first, ...others] = typed.map(({ path, received, fix: mend }) => invalidOption(path, received, mend))
  if (!first) return error
  const { message } = together([first, ...others])
  return new ArbalestError(error.code, message, { cause: error, data: { ...error.data, parameter: typed[0]!.path, faults: typed } })
}
