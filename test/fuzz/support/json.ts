/** Any value as JSON. */
export function jsonOf(value: unknown): string {
  try {
    return JSON.stringify(value, (_, inner: unknown) => (typeof inner === 'bigint' ? Number(inner) : inner)) ?? 'null'
  } catch {
    return '{"a":'.repeat(500) // it held itself
  }
}
