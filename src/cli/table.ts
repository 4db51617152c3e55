export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => string
  /** Names stand to the left, figures to the right. */
  readonly side?: 'left' | 'right'
}

/** A line of titles, then one a row, columns as wide as their longest cell. */
export function tableLines<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): readonly [titles: string, ...rows: string[]] {
  const cells = rows.map((row) => columns.map(({ cell }) => cell(row)))
  const titles = columns.map(({ title }) => title)
  const widths = titles.map((title, i) => Math.max(title.length, ...cells.map((row) => row[i]!.length)))
  const line = (row: readonly string[]): string =>
    row
      .map((cell, i) => (columns[i]!.side === 'left' ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!)))
      .join('  ')
      .trimEnd()
  return [line(titles), ...cells.map(line)]
}
