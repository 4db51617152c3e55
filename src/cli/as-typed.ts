import { ArbalestError, faultsOf } from '../index.js'
import { flagOf, type TrainFlags } from './train-flags.js'

/** The same error, with every option called as it was typed: by its flag, or by its place in the config's file. */
export function asTyped(error: unknown, flags: TrainFlags, file: string | undefined): unknown {
  if (!(error instanceof ArbalestError)) return error
  const faults = faultsOf(error)
  if (faults.length === 0) return error
  let { message } = error
  const typed = faults.map(({ path, received, mend }) => {
    const flag = flagOf(path, flags)
    const told = { path: flag ?? path, received, mend: flag === undefined && file !== undefined ? `${mend} (${file})` : mend }
    message = message.replace(`${path}: received`, `${told.path}: received`).replace(mend, told.mend)
    return told
  })
  return new ArbalestError(error.code, message, { cause: error, data: { ...error.data, parameter: typed[0]!.path, faults: typed } })
}
