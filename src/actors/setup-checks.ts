import { invalidOption } from '../errors.js'

/** Throws INVALID_OPTION for options of an actor without those that it needs: programs in JavaScript have no types. */
export function checkSetup<Setup extends object>(options: Setup, ...needed: readonly (keyof Setup & string)[]): void {
  if (typeof options !== 'object' || options === null) throw invalidOption('options', options, `give an object with ${needed.join(', ')}`)
  const missing = needed.find((name) => (options[name] ?? undefined) === undefined)
  if (missing !== undefined)
    throw invalidOption(missing, options[missing], `give it beside ${needed.filter((name) => name !== missing).join(', ')}`)
}
