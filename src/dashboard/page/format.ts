/** Numbers as text for people. */

export function countText(value: number): string {
  return Math.round(value).toLocaleString('en-US')
}

/** `1 learner`, `4 learners`. */
export function counted(count: number, what: string): string {
  return `${countText(count)} ${what}${count === 1 ? '' : 's'}`
}

export function percentText(share: number | null, digits = 0): string {
  return share === null ? '–' : `${(100 * share).toFixed(digits)}%`
}

/** Three or four digits, whatever the size. */
export function numberText(value: number | null): string {
  if (value === null) return '–'
  if (value === 0) return '0'
  const size = Math.abs(value)
  if (size >= 1e6) return value.toExponential(2)
  if (size >= 1000) return countText(value)
  return size < 0.001 ? value.toExponential(1) : value.toPrecision(size < 1 ? 3 : 4)
}

/** The same without zeros at its end. */
export function shortText(value: number | null): string {
  return value === null || Math.abs(value) >= 1000 ? numberText(value) : String(Number(value.toPrecision(3)))
}

/** A number a second: whole from 100 on. */
export function rateText(value: number | null): string {
  return value === null || value < 100 ? shortText(value) : countText(value)
}

/** A mark of an axis: round numbers as they are, and short. */
export function axisText(value: number): string {
  const size = Math.abs(value)
  if (size >= 1e6 || (size > 0 && size < 1e-4)) return Number(value.toPrecision(3)).toExponential()
  return Number(value.toPrecision(6)).toLocaleString('en-US', { maximumFractionDigits: 9 })
}

/** 0:42, 12:05, 3:07:09. */
export function timeText(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–'
  const whole = Math.max(0, Math.round(seconds))
  const [hours, minutes, rest] = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60]
  const two = (value: number) => String(value).padStart(2, '0')
  return hours > 0 ? `${hours}:${two(minutes)}:${two(rest)}` : `${minutes}:${two(rest)}`
}

export function bytesText(value: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  const step = value < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(value) / 3))
  const scaled = value / 1000 ** step
  return `${step === 0 || scaled >= 100 ? Math.round(scaled) : scaled.toFixed(1)} ${units[step]}`
}
