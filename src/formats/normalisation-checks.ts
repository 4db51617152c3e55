import { invalidOption } from '../errors.js'
import type { Model } from '../model/model.js'
import type { Normalisation } from '../model/normalisation.js'

/** The normalisation of a caller's. Throws INVALID_OPTION. */
export function checkedNormalisation(given: Normalisation, model: Model): Normalisation {
  const { mean, std } = Object(given) as Partial<Normalisation>
  const check = (name: string, list: unknown, holds: (item: unknown) => boolean): void => {
    if (!Array.isArray(list) || !list.every(holds) || !isForChannels(list, model))
      throw invalidOption(`normalisation.${name}`, list, `give numbers${name === 'std' ? ' above 0' : ''}, ${forChannels(model)}`)
  }
  check('mean', mean, isNumber)
  check('std', std, isPositive)
  return given
}

export const isNumber = (number: unknown): number is number => Number.isFinite(number)
export const isPositive = (number: unknown): number is number => isNumber(number) && number > 0

/** One number for each channel, one for all, or none. */
export function isForChannels({ length }: readonly unknown[], { input: [channels] }: Model): boolean {
  return length <= 1 || length === channels
}

export function forChannels({ input: [channels = 1] }: Model): string {
  return channels === 1 ? 'one for the channel' : `one for each of ${channels} channels, or one for all`
}
