/** Rows as lines whose cells stand below each other: the first `names` of them to the left, figures to the right. */
export function columns(rows: readonly (readonly string[])[], names: number): string[] {
  const widths = rows[0]!.map((_, column) => Math.max(...rows.map((row) => row[column]!.length)))
  return rows.map((row) =>
    row
      .map((cell, column) => (column < names ? cell.padEnd(widths[column]!) : cell.padStart(widths[column]!)))
      .join('  ')
      .trimEnd()
  )
}
