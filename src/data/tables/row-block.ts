/** Consecutive rows of a table: the cells of each column. A cell is what the file has: a text, a number, a boolean, null and others. */
export interface RowBlock {
  readonly rows: number
  readonly columns: readonly (readonly unknown[])[]
  /** The line of the file in which each row ends; absent where the file has no lines. */
  readonly lines?: readonly number[]
}

/** What a reader gives: first the names of the columns, then the rows. */
export interface TableSink {
  /** The names of the columns; called once, first. */
  header(columns: readonly string[]): void
  /** The next rows. The reader waits for the promise before it reads on. */
  block(block: RowBlock): void | Promise<void>
}

/** How a table is read. */
export interface ReadTableOptions {
  /** Of CSV only: what separates its cells; if omitted, the one of comma, semicolon, tab and bar that the first line has most. */
  readonly delimiter?: string | undefined
}

/** Where a row is, for people: its line, or its number from 1 in a file without lines. */
export function placeOf(row: number, line: number | undefined): string {
  return line === undefined ? `row ${row}` : `line ${line}`
}
