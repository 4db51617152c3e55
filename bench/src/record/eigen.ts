/** Eigenvalues and eigenvectors (in columns) of a symmetric matrix, by Jacobi's rotations. */
export function eigen(matrix: readonly Float64Array[]): { readonly values: readonly number[]; readonly vectors: readonly Float64Array[] } {
  const n = matrix.length
  const a = matrix.map((row) => Float64Array.from(row))
  const v = matrix.map((_, i) => Float64Array.from({ length: n }, (__, j) => (i === j ? 1 : 0)))
  const scale = a.reduce((sum, row) => sum + row.reduce((part, value) => part + value * value, 0), 0)
  for (let sweep = 0; sweep < 100; sweep++) {
    let off = 0
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) off += a[p]![q]! ** 2
    if (off <= 1e-24 * scale) break
    for (let p = 0; p < n; p++) for (let q = p + 1; q < n; q++) rotate(a, v, p, q)
  }
  return { values: a.map((row, i) => row[i]!), vectors: v }
}

/** Makes a[p][q] zero. */
function rotate(a: Float64Array[], v: Float64Array[], p: number, q: number): void {
  if (a[p]![q] === 0) return
  const theta = (a[q]![q]! - a[p]![p]!) / (2 * a[p]![q]!)
  const t = (theta < 0 ? -1 : 1) / (Math.abs(theta) + Math.hypot(theta, 1))
  const c = 1 / Math.hypot(t, 1)
  const s = t * c
  for (const row of [...a, ...v]) {
    const [left, right] = [row[p]!, row[q]!]
    row[p] = c * left - s * right
    row[q] = s * left + c * right
  }
  for (let k = 0; k < a.length; k++) {
    const [upper, lower] = [a[p]![k]!, a[q]![k]!]
    a[p]![k] = c * upper - s * lower
    a[q]![k] = s * upper + c * lower
  }
}
