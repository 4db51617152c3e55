const UNITS: Readonly<Record<string, number>> = { bit: 1, kbit: 1e3, mbit: 1e6, gbit: 1e9, tbit: 1e12 }

/** The bytes a second of a link whose rate is written as `200Mbit` or `1.5Gbit`, in bits a second as networks count; undefined for another text. */
export function bytesPerSecondOf(text: string): number | undefined {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)\s*([kmgt]?bit)(?:\/s|ps)?$/i.exec(text) ?? []
  const bytes = (Number(amount) * (UNITS[unit?.toLowerCase() ?? ''] ?? NaN)) / 8
  return bytes >= 1 ? bytes : undefined
}
