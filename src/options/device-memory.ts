import * as v from 'valibot'
import { option } from '../schema/group.js'
import { withForm } from '../schema/values.js'

/** The most memory that a run may take of a device: bytes, a part of the device's memory, or what is free there. */
export type DeviceMemoryLimit = { readonly bytes: number } | { readonly share: number } | 'auto'

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  B: 1,
  kB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40
}

const FIX = "use bytes such as '2GiB' or '800MiB', a part of the device's memory such as '75%', or 'auto'"

/** Undefined for what is no limit. */
function deviceMemoryLimit(given: unknown): DeviceMemoryLimit | undefined {
  if (given === 'auto') return given
  const text = typeof given === 'number' ? String(given) : typeof given === 'string' ? given : ''
  const [, digits = '', unit = ''] = /^(\d+(?:\.\d+)?) ?([a-zA-Z]*|%)$/.exec(text) ?? []
  const number = digits === '' ? NaN : Number(digits)
  if (unit === '%') return number > 0 && number <= 100 ? { share: number / 100 } : undefined
  const bytes = Math.floor(number * (UNITS[unit] ?? NaN))
  return bytes >= 1 && Number.isSafeInteger(bytes) ? { bytes } : undefined
}

const limit = withForm(
  v.pipe(
    v.custom<number | string>((value) => deviceMemoryLimit(value) !== undefined, FIX),
    v.transform((value) => deviceMemoryLimit(value)!)
  ),
  { takes: "bytes as 2GiB or 800MiB, a part of the device's memory as 75%, or auto", fromText: (text) => text }
)

export const deviceMemoryOption = option<number | string, DeviceMemoryLimit>(limit, {
  text: 'the most memory that a run takes of each device: 2GiB, 75% or auto; values are computed again where they do not fit (docs/memory.md)',
  flag: '--device-memory <bytes>',
  otherwise: 'auto'
})
