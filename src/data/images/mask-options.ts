import * as v from 'valibot'
import { group, option, type GivenOptions, type ToldByName } from '../../schema/group.js'
import { kind, list } from '../../schema/values.js'

/** What a pixel of a mask has: a shade of grey, a number of the palette, or a colour. */
export type MaskValue = number | readonly [red: number, green: number, blue: number]

const isByte = (value: unknown): boolean => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= 255
const maskValue = kind<MaskValue>(
  (value) => (Number.isInteger(value) && (value as number) >= 0) || (Array.isArray(value) && value.length === 3 && value.every(isByte)),
  'a shade of grey such as 255, or a colour such as [128, 0, 0]'
)

export const maskOptions = group({
  /** What the pixels of each class have, in the order of the classes: `[0, 255]`, or colours such as `[[0, 0, 0], [128, 0, 0]]`. If omitted, the numbers are the classes. */
  values: option(
    v.pipe(
      list(maskValue, 'a list of shades of grey, or of colours', { min: 1 }),
      v.check((values) => new Set(values.map(String)).size === values.length, 'give each class a value of its own')
    )
  ),
  /** What pixels have that count for nothing, neither in training nor in a measurement: their class is -1. None if omitted. */
  ignore: option(maskValue)
})

/** How a mask is read. */
export interface MaskOptions extends GivenOptions<typeof maskOptions>, ToldByName {}
