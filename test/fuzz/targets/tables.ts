import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parquetWriteBuffer } from 'hyparquet-writer'
import { plainText } from '../../../src/data/tables/cell.js'
import { type TableDataset } from '../../../src/data/tables/table.js'
import type { Choice } from '../support/choice.js'
import { damaged } from '../support/damage.js'
import { junk } from '../support/junk.js'
import { refusingBy } from '../support/refusals.js'
import type { Target } from '../support/target.js'
import { datasetFromTable } from '../../../src/data/datasets.js'

const ROWS = Array.from({ length: 24 }, (_, i) => ({
  name: `row, "${i}"`,
  size: i % 5 === 0 ? null : i / 3,
  colour: ['red', 'grün', '世界'][i % 3]!,
  day: new Date(Date.UTC(2024, 0, 1 + i)),
  count: BigInt(i * i),
  yes: i % 2 === 0
}))

const COLUMNS = Object.keys(ROWS[0]!) as (keyof (typeof ROWS)[number])[]

/** Damaged CSV and JSON Lines, with options that may be wrong. */
export function csvTarget(folder: string): Target {
  const cell = (value: unknown) => `"${(plainText(value) ?? '').replaceAll('"', '""')}"`
  const csv = Buffer.from([COLUMNS.join(','), ...ROWS.map((row) => COLUMNS.map((name) => cell(row[name])).join(','))].join('\r\n'))
  const lines = Buffer.from(
    ROWS.map((row) => JSON.stringify(row, (_, value: unknown) => (typeof value === 'bigint' ? Number(value) : value))).join('\n')
  )
  return (choice) => {
    const [extension, content] = choice.among([
      ['csv', csv],
      ['csv', csv],
      ['tsv', csv],
      ['jsonl', lines]
    ] as const)
    return attempt(join(folder, `table.${extension}`), content, choice)
  }
}

const CODECS = ['UNCOMPRESSED', 'SNAPPY'] as const

/** Damaged Parquet: plain and snappy, one row group and several. */
export function parquetTarget(folder: string): Target {
  const contents = CODECS.flatMap((codec) =>
    [8, 1000].map((rowGroupSize) => {
      const columnData = COLUMNS.map((name) => ({ name, data: ROWS.map((row) => row[name]) }))
      return Buffer.from(parquetWriteBuffer({ columnData, codec, rowGroupSize }))
    })
  )
  return (choice) => attempt(join(folder, 'table.parquet'), choice.among(contents), choice)
}

async function attempt(file: string, content: Buffer, choice: Choice): Promise<void> {
  writeFileSync(file, choice.happens(0.1) ? content : damaged(content, choice))
  const options = {
    file,
    target: choice.happens(0.9) ? choice.among(COLUMNS) : junk(choice),
    ...(choice.happens(0.2) && { ignore: choice.happens(0.5) ? [choice.among(COLUMNS)] : junk(choice) }),
    ...(choice.happens(0.2) && { task: choice.among(['classes', 'numbers', junk(choice)]) }),
    ...(choice.happens(0.2) && { testFraction: choice.happens(0.5) ? choice.share() : junk(choice) })
  }
  const codes = ['DATA_CORRUPT', 'INVALID_OPTION', 'UNKNOWN_NAME', 'OUT_OF_MEMORY'] as const
  checkTable(await refusingBy(codes, () => datasetFromTable(options as never)))
}

/** Throws if an accepted table gives samples that are not finite, or labels that are no classes. */
function checkTable({ sample, classes, train, test }: TableDataset): void {
  for (const { count, samples, labels, targets } of [train, test]) {
    if (count < 1 || samples.length !== count * sample[0]!) throw new Error(`${samples.length} numbers for ${count} samples`)
    if ((samples as Float32Array).some((value) => !Number.isFinite(value))) throw new Error('a feature that is not finite')
    if (labels?.some((label) => !(label >= 0 && label < classes))) throw new Error(`a label outside of ${classes} classes`)
    if (targets?.some((value) => !Number.isFinite(value))) throw new Error('a target that is not finite')
  }
}
