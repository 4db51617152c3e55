import { expect } from 'chai'
import { join } from 'node:path'
import { parquetWriteBuffer, type ColumnSource } from 'hyparquet-writer'
import { type TableDataset } from '../../../src/data/tables/table.js'
import { daysOf } from '../../../src/data/tables/cell.js'
import { encodeRows, knowsValue } from '../../../src/data/tables/encode.js'
import { readParquet } from '../../../src/data/tables/parquet.js'
import type { RowBlock } from '../../../src/data/tables/row-block.js'
import type { TableDatasetOptions } from '../../../src/data/tables/table-options.js'
import type { ErrorCode } from '../../../src/errors.js'
import type { TableEncoding } from '../../../src/formats/encoding.js'
import { refused } from '../../support/codes.js'
import { Folder } from '../support/files.js'
import { datasetByEncoding, datasetFromTable } from '../../../src/data/datasets.js'

/** 40 rows: an index, a number with missing values, a category with a rare value, a day, sentences, a constant, and a target. */
const ROWS = Array.from({ length: 40 }, (_, i) => ({
  id: i + 1,
  size: i % 5 === 0 ? null : i / 2,
  colour: i === 7 ? 'violet' : ['red', 'green', 'blue'][i % 3]!,
  day: `2024-01-${String(1 + (i % 28)).padStart(2, '0')}`,
  note: `this is remark ${i * i}`,
  country: 'XX',
  price: 100 + 3.5 * i
}))

const csv = (rows: readonly object[], delimiter = ',') =>
  [Object.keys(rows[0]!), ...rows.map((row) => Object.values(row).map((value: unknown) => (value ?? 'NA') as string))]
    .map((cells) => cells.join(delimiter))
    .join('\n')

describe('datasetFromTable', () => {
  let folder: Folder
  before(async () => (folder = await Folder.make()))
  after(() => folder[Symbol.asyncDispose]())

  const read = async (content: string | Uint8Array, options: Omit<TableDatasetOptions, 'file'>, name = 'rows.csv'): Promise<TableDataset> =>
    datasetFromTable({ file: await folder.write(name, Buffer.from(content)), ...options })
  const kinds = ({ columns }: TableDataset) => Object.fromEntries(columns.map(({ name, kind, features }) => [name, [kind, features]]))

  it('finds the kinds of columns and says why it ignores some', async () => {
    const data = await read(csv(ROWS), { target: 'price' })
    expect(kinds(data)).to.deep.equal({
      id: ['ignored', 0],
      size: ['number', 2],
      // Three colours, and a place for violet and all others.
      colour: ['category', 4],
      day: ['date', 1],
      note: ['ignored', 0],
      country: ['ignored', 0],
      price: ['target', 0]
    })
    const reasons = Object.fromEntries(data.columns.map(({ name, reason }) => [name, reason]))
    expect(reasons['id']).to.equal('it counts the rows (if it is a quantity: --quantities)')
    expect(reasons['note']).to.equal('40 different texts in 40 rows, as "this is remark 0"')
    expect(reasons['country']).to.equal('all its values are "XX"')
    expect(data.columns.find(({ name }) => name === 'size')!.missing).to.equal(8)
    expect([data.sample, data.classes, data.train.count, data.test.count]).to.deep.equal([[7], 0, 36, 4])
  })

  it('takes numbers with commas for no categories, unless it is told to', async () => {
    const lines = Array.from({ length: 30 }, (_, i) => `${i % 7},${i % 3};${(i * i) / 2};${i % 2 ? 'yes' : 'no'}`)
    const content = ['size;weight;answer', ...lines].join('\n')
    const { columns } = await read(content, { target: 'answer' })
    expect(columns[0]).to.deep.include({
      kind: 'ignored',
      reason: 'line 2: expected numbers without commas, found "0,0" and 29 others with a comma: write them as 1234.5'
    })
    const told = await read(content, { target: 'answer', categories: ['size'] })
    expect(told.columns[0]!.kind).to.equal('category')
  })

  it('refuses a target whose numbers have commas, all or some, few or many, unless its values are classes', async () => {
    const table = (numbers: readonly string[]) => ['size;price', ...numbers.map((number, i) => `${i % 7};${number}`)].join('\n')
    const all = Array.from({ length: 40 }, (_, i) => `${100 + i},5`)
    const some = all.map((text, i) => (i % 3 === 1 ? text : `${i}`))
    const one = all.map((text, i) => (i === 30 ? text : `${i}.25`))
    const few = all.map((_, i) => `${i % 3},5`)
    const places: [string[], string, string][] = [
      [all, 'line 2', '"100,5" and 39 others'],
      [some, 'line 3', '"101,5"'],
      [one, 'line 32', '"130,5"'],
      [few, 'line 2', '"0,5"']
    ]
    for (const [numbers, place, example] of places)
      await refused('DATA_CORRUPT', () => read(table(numbers), { target: 'price' }), `${place}, column "price"`, example, '1234.5')
    await refused('DATA_CORRUPT', () => read(table(all), { target: 'price', task: 'numbers' }), '1234.5')
    expect((await read(table(few), { target: 'price', task: 'classes' })).classNames).to.deep.equal(['0,5', '1,5', '2,5'])
  })

  it('tells texts among numbers by their line, with what counts as missing, and refuses them in a target', async () => {
    const table = (stray: string) =>
      ['size,price,x', ...Array.from({ length: 60 }, (_, i) => `${i % 20 === 7 ? stray : i / 2},${i * 2.5},${i % 4}`)].join('\n')
    for (const stray of ['unknown', '12 kg', '#REF!']) {
      const { columns } = await read(`${table(stray)}\n3.5,1,2\n`, { target: 'price' })
      expect(columns[0]!.kind).to.equal('ignored')
      expect(columns[0]!.reason).to.match(/^line 9: expected numbers, as 58 rows have, found ".+" and 2 others/)
      expect(columns[0]!.reason).to.include(stray).and.include('an empty cell, NA, N/A, n.a., NaN, null, none, ?, - or --')
      await refused(
        'DATA_CORRUPT',
        () => read(table(stray), { target: 'size' }),
        'line 9, column "size"',
        JSON.stringify(stray),
        '--task classes'
      )
    }
    for (const missing of ['', 'NA', 'n/a', 'N.A.', 'NaN', 'null', 'None', '?', '-', '--', '<NA>', '#N/A'])
      expect((await read(table(missing), { target: 'price' })).columns[0], missing).to.include({ kind: 'number', missing: 3 })
    const few = ['size,price,x', ...Array.from({ length: 60 }, (_, i) => `${i === 9 ? 'unknown' : i % 8},${i * 2.5},${i % 4}`)].join('\n')
    const [category] = (await read(few, { target: 'price' })).columns
    expect(category).to.deep.include({ kind: 'category', values: 9 })
    expect(category!.reason).to.match(/^line 11: expected numbers, .*found "unknown"/)
  })

  it('refuses a number that no float32 is only where it stands among numbers that are used', async () => {
    const table = (first: (i: number) => string | number) =>
      ['hash,x,y', ...Array.from({ length: 60 }, (_, i) => `${first(i)},${i * 1.5},${i * 2.5}`)].join('\n')
    // A number by its form, which is infinite.
    const hash = (i: number) => (i === 7 ? '12e4567' : `${((i + 1) * 40_503) % 10_000}ab${i}`)
    const hashes = await read(table(hash), { target: 'y' })
    expect(hashes.columns[0]).to.include({ kind: 'ignored', reason: '60 different texts in 60 rows, as "503ab0"' })
    expect(
      (
        await read(
          table((i) => ['inf', 'ant', 'bee'][i % 3]!),
          { target: 'y' }
        )
      ).columns[0]
    ).to.include({ kind: 'category', values: 3 })
    const wide = (i: number) => `${'9'.repeat(40)}${i % 4}`
    const said = ['line 2, column "hash"', 'expected numbers of at most 3.4e+38', 'and 59 others above it', '--ignore']
    await refused('DATA_CORRUPT', () => read(table(wide), { target: 'y' }), ...said)
    expect((await read(table(wide), { target: 'y', ignore: ['hash'] })).columns[0]!.kind).to.equal('ignored')
    expect((await read(table(wide), { target: 'y', categories: ['hash'] })).columns[0]).to.include({ kind: 'category', values: 4 })
    await refused('DATA_CORRUPT', () => read(table(wide), { target: 'hash' }), ...said.slice(0, 3), '--task classes')
    await refused(
      'DATA_CORRUPT',
      () =>
        read(
          table((i) => [1, 2, 'inf'][i % 3]!),
          { target: 'hash' }
        ),
      'line 4, column "hash"',
      '"inf"'
    )
    expect((await read(table(wide), { target: 'hash', task: 'classes' })).classes).to.equal(4)
  })

  it('takes days as numbers where they mean one day, and tells the others', async () => {
    const day = (i: number) => new Date(Date.UTC(2015, 0, 3 + 5 * i))
    const [two, iso] = [(n: number) => String(n).padStart(2, '0'), (date: Date) => date.toISOString().slice(0, 10)]
    const parts = (date: Date) => [date.getUTCDate(), date.getUTCMonth() + 1, date.getUTCFullYear()] as const
    const forms: Record<string, (date: Date) => string> = {
      iso,
      slashed: (date) => iso(date).replaceAll('-', '/'),
      dotted: (date) => parts(date).map(two).join('.'),
      short: (date) => parts(date).join('.'),
      timed: (date) => `${parts(date).map(two).join('.')} 12:30`
    }
    const table = (form: (date: Date) => string) =>
      ['day,x', ...Array.from({ length: 90 }, (_, i) => `${form(day(i))},${i * 1.5}`)].join('\n')
    for (const [name, form] of Object.entries(forms)) {
      const { columns, encoding } = await read(table(form), { target: 'x' })
      expect(columns[0]!.kind, name).to.equal('date')
      const noon = name === 'timed' ? 12.5 / 24 : 0
      expect((encoding.columns[0] as { mean: number }).mean - noon, name).to.be.within(16_440 + 3, 16_440 + 450)
    }
    const [first, second] = [(await read(table(iso), { target: 'x' })).train, (await read(table(forms['short']!), { target: 'x' })).train]
    expect(second).to.deep.equal(first)
    const american = await read(
      table((date) => `${date.getUTCMonth() + 1}/${date.getUTCDate()}/${date.getUTCFullYear()}`),
      { target: 'x', ignore: [] },
      'us.csv'
    ).catch(String)
    expect(american)
      .to.include('"day": line 2: expected dates that mean one day each, found "1/3/2015" and 89 others')
      .and.include('2024-12-31')
    const { columns } = await read('day,x,y\n31.02.2024,1,2\n30.02.2024,2,3\n01.03.2024,4,9\n', { target: 'y' })
    expect(columns[0]!.kind).to.not.equal('date')
    await refused(
      'DATA_CORRUPT',
      () =>
        read(
          `x,${table(iso)
            .split('\n')
            .map((line, i) => (i === 0 ? 'day' : `${i % 4},${line.split(',')[0]}`))
            .join('\n')}`,
          { target: 'day' }
        ),
      'column "day"',
      'found dates, as "2015-01-03"'
    )
  })

  it('ignores numbers that name the rows, unless they are said to be quantities', async () => {
    const table = (name: string, numberOf: (i: number) => number) =>
      [`${name},x,y`, ...Array.from({ length: 80 }, (_, i) => `${numberOf(i)},${(i * 7) % 11},${i * 1.5}`)].join('\n')
    const first = async (content: string, options = {}) => (await read(content, { target: 'y', ...options })).columns[0]!
    const gaps = (i: number) => 1 + i + Math.floor(i / 4)
    const shuffled = (i: number) => (i * 37) % 80
    const sparse = (i: number) => (i * 7919) % 1_000_003
    for (const [name, numberOf] of [
      ['n', gaps],
      ['n', shuffled],
      ['customer_id', sparse],
      ['orderId', sparse],
      ['Order No.', sparse]
    ] as const) {
      expect(await first(table(name, numberOf)), name).to.deep.include({ kind: 'ignored', features: 0 })
      expect((await first(table(name, numberOf))).reason).to.match(/^an id: .*--quantities/)
      expect((await first(table(name, numberOf), { quantities: [name] })).kind).to.equal('number')
    }
    expect(
      (
        await first(
          table('n', (i) => i),
          { quantities: ['n'] }
        )
      ).kind
    ).to.equal('number')
    // Quantities: a regular step, whole numbers over a wide range, repetitions, and what no id is.
    const quantities: [string, (i: number) => number][] = [
      ['x0', (i) => 2 * i],
      ['salary', sparse],
      ['grid', (i) => i % 50],
      ['humid', (i) => (i * 7919) % 1_000_003],
      ['id', (i) => i / 2]
    ]
    for (const [name, numberOf] of quantities) expect((await first(table(name, numberOf))).kind, name).to.equal('number')
    await refused('UNKNOWN_NAME', () => read(table('n', gaps), { target: 'y', quantities: ['m'] }), 'quantities', '"m"')
  })

  it('skips empty lines, rows without any value, and delimiters at the ends of lines', async () => {
    const rows = Array.from({ length: 30 }, (_, i) => `${i * 1.5},${i % 3},${i * 2.5}`)
    const { train, test } = await read(['a,b,c', ...rows].join('\n'), { target: 'c' })
    const others = [
      ['', 'a,b,c', ...rows.slice(0, 9), '', '   ', ...rows.slice(9), '', ' ', ',,', ',,', ''],
      ['a,b,c,', ...rows.map((row) => `${row},`)],
      ['a,b,c', ...rows.map((row) => `${row}, ,`)]
    ]
    for (const lines of others)
      for (const end of ['\n', '\r\n']) {
        const again = await read(lines.join(end), { target: 'c' })
        expect([again.train, again.test]).to.deep.equal([train, test])
      }
    // Lines are those of an editor: with the empty ones and those within quotes.
    const broken = ['', 'a,b,c', ...rows.slice(0, 3), '', '"1\n2",4,5', '1,2', ...rows].join('\n')
    await refused(
      'DATA_CORRUPT',
      () => read(broken, { target: 'c' }),
      'line 9',
      'expected 3 cells',
      'header in line 2',
      'found 2 ("1", "2")'
    )
  })

  it('standardises numbers by the training rows, marks missing ones, and gives unknown categories a place', async () => {
    const { encoding, train } = await read(csv(ROWS), { target: 'price' })
    const column = (at: number) => Array.from({ length: train.count }, (_, row) => (train.samples as Float32Array)[7 * row + at]!)
    const sizes = column(0).filter((_, row) => column(1)[row] === 0)
    expect(sizes.reduce((sum, size) => sum + size, 0) / sizes.length).to.be.closeTo(0, 1e-6)
    expect(Math.hypot(...sizes) / Math.sqrt(sizes.length)).to.be.closeTo(1, 1e-6)
    expect(Math.hypot(...train.targets!) / Math.sqrt(train.count)).to.be.closeTo(1, 1e-6)
    const row = (colour: unknown, size: unknown) => Array.from(encodeRows(encoding, [{ size, colour, day: '2024-01-01' }])).slice(0, 6)
    expect(row('blue', '')).to.deep.equal([0, 1, 1, 0, 0, 0])
    expect(row('green', null)).to.deep.equal([0, 1, 0, 1, 0, 0])
    for (const unknown of ['violet', 'orange', null]) expect(row(unknown, 'NaN').slice(2)).to.deep.equal([0, 0, 0, 1])
    const size = encoding.columns.find(({ name }) => name === 'size') as { mean: number; std: number }
    expect(row('red', size.mean + 2 * size.std)[0]).to.be.closeTo(2, 1e-6)
  })

  it('takes the values of a category in other spellings of the same number or truth value, where only one value can be meant', async () => {
    const encoding = (values: readonly string[]): TableEncoding => ({
      kind: 'table',
      columns: [{ kind: 'category', name: 'c', values, missing: false }],
      target: { kind: 'number', name: 'y', mean: 0, std: 1 }
    })
    const placeOf = (values: readonly string[], c: unknown) => encodeRows(encoding(values), [{ c }]).indexOf(1)
    const pandas = ['False', 'True', '1.0', '2.5']
    for (const [cell, place] of [
      [false, 0],
      [true, 1],
      ['TRUE', 1],
      [1, 2],
      ['+1', 2],
      ['1e0', 2],
      ['2.50', 3]
    ] as const)
      expect(placeOf(pandas, cell), String(cell)).to.equal(place)
    for (const unknown of ['truth', 0, 10, null]) expect(placeOf(pandas, unknown), String(unknown)).to.equal(4)
    const ids = ['007', '7', '9007199254740993']
    expect([placeOf(ids, '7'), placeOf(ids, '007'), placeOf(ids, '07')]).to.deep.equal([1, 0, 3])
    expect(placeOf(ids, '9007199254740992')).to.equal(3)
    const knows = knowsValue({ kind: 'category', name: 'c', values: pandas, missing: false })
    expect([true, 1, 'TRUE', 3, 'no', null].map(knows)).to.deep.equal([true, true, true, false, false, false])
  })

  it('takes the classes of another table in other spellings of the same number or truth value, too', async () => {
    const encoding: TableEncoding = {
      kind: 'table',
      columns: [{ kind: 'number', name: 'x', mean: 0, std: 1, missing: false }],
      target: { kind: 'classes', name: 'y' }
    }
    const labels = async (rows: readonly object[], classNames: readonly string[]) => {
      const file = await folder.write('classes.jsonl', Buffer.from(rows.map((row) => JSON.stringify(row)).join('\n')))
      const { test } = await datasetByEncoding(file, encoding, classNames)
      return [...test.labels!]
    }
    expect(
      await labels(
        [
          { x: 1, y: true },
          { x: 2, y: 'False' }
        ],
        ['False', 'True']
      )
    ).to.deep.equal([1, 0])
    expect(
      await labels(
        [
          { x: 1, y: 1 },
          { x: 2, y: '0.0' }
        ],
        ['0', '1.0']
      )
    ).to.deep.equal([1, 0])
    await refused('DATA_CORRUPT', () => labels([{ x: 1, y: 1 }], ['01', '1.0']), 'line 1, column "y"')
  })

  it('reads a time zone as it is written by databases, pandas and JavaScript', () => {
    for (const [zone, same] of [
      ['+00', 'Z'],
      [' UTC', 'Z'],
      ['UTC', 'Z'],
      ['z', 'Z'],
      [' Z', 'Z'],
      [' +0100', '+01:00'],
      [' +01:00', '+01:00'],
      ['-05', '-05:00'],
      ['-0530', '-05:30']
    ])
      for (const time of ['2024-12-31 10:00:00', '2024-12-31T10:00:00.25', '2024/12/31 10:00']) {
        expect(daysOf(`${time}${same}`)).to.be.a('number')
        expect(daysOf(`${time}${zone}`), zone).to.equal(daysOf(`${time}${same}`))
      }
    for (const none of ['+1', '+00:', ' +', '  UTC', 'GMT', ' CET']) expect(daysOf(`2024-12-31 10:00:00${none}`), none).to.equal(undefined)
  })

  it('takes few whole numbers and texts for classes, and holds out a share of each', async () => {
    const rows = Array.from({ length: 60 }, (_, i) => ({ x: i * i, survived: i % 3 === 0 ? 1 : 0 }))
    const { classNames, train, test, columns } = await read(csv(rows), { target: 'survived', testFraction: 0.2 })
    expect(classNames).to.deep.equal(['0', '1'])
    expect([train.count, test.count]).to.deep.equal([48, 12])
    expect(test.labels!.filter((label) => label === 1)).to.have.length(4)
    expect(columns[1]!.reason).to.equal('2 classes: few whole numbers')
    expect((await read(csv(rows), { target: 'survived', task: 'numbers' })).classes).to.equal(0)
  })

  it('takes the spellings of a number or of a truth value for one class, as of tables that were joined', async () => {
    const spelt = (...spellings: string[]) => csv(Array.from({ length: 60 }, (_, i) => ({ x: i * i, y: spellings[i % spellings.length] })))
    const numbers = await read(spelt('1', '0', '1.0', '0.0', '+1'), { target: 'y' })
    expect(numbers).to.deep.include({ classes: 2, classNames: ['0', '1'] })
    expect(numbers.train.labels!.length + numbers.test.labels!.length).to.equal(60)
    expect(numbers.columns[1]).to.include({ values: 2, reason: '2 classes: few whole numbers' })
    expect([...numbers.train.labels!, ...numbers.test.labels!].reduce((sum, label) => sum + label, 0)).to.equal(36)
    const many = Array.from({ length: 20 }, (_, i) => (i < 10 ? String(i) : `${i - 10}.0`))
    expect((await read(spelt(...many), { target: 'y' })).classes).to.equal(10)
    expect((await read(spelt('True', 'false', 'true', 'FALSE'), { target: 'y' })).classNames).to.deep.equal(['True', 'false'])
    // In a column of texts they are names.
    expect((await read(spelt('1', '1.0', 'none of them'), { target: 'y', task: 'classes' })).classes).to.equal(3)
  })

  it('makes categories of numbers that are named, and leaves out columns that are', async () => {
    const rows = Array.from({ length: 40 }, (_, i) => ({ zone: 1 + (i % 4), x: i * 1.5, y: i * 2.25 }))
    const data = await read(csv(rows), { target: 'y', categories: ['zone'], ignore: ['x'] })
    expect(kinds(data)).to.deep.equal({ zone: ['category', 5], x: ['ignored', 0], y: ['target', 0] })
  })

  it('refuses a column of which the options say two things', async () => {
    const text = csv(Array.from({ length: 40 }, (_, i) => ({ zone: 1 + (i % 4), x: i * 1.5, y: i * 2.25 })))
    const both = { target: 'y', categories: ['zone'], quantities: ['x', 'zone'] }
    await refused('INVALID_OPTION', () => read(text, both), 'quantities: received "zone"; it is one of categories, too')
    await refused('INVALID_OPTION', () => read(text, { target: 'y', ignore: ['x'], quantities: ['x'] }), 'it is one of ignore, too')
    await refused('INVALID_OPTION', () => read(text, { target: 'y', categories: ['y'] }), 'categories: received "y"; it is the target')
  })

  it('reads the same from semicolons, tabs, JSON Lines and Parquet', async () => {
    const { train, encoding } = await read(csv(ROWS), { target: 'price' })
    const lines = ROWS.map((row) => JSON.stringify(row)).join('\n')
    const columnData = Object.keys(ROWS[0]!).map((name) => ({ name, data: ROWS.map((row) => row[name as keyof (typeof ROWS)[0]]) }))
    const parquet = new Uint8Array(parquetWriteBuffer({ columnData, rowGroupSize: 16 }))
    const others = [
      await read(csv(ROWS, ';'), { target: 'price' }),
      await read(`\uFEFF${csv(ROWS, '\t')}`, { target: 'price' }, 'rows.tsv'),
      await read(lines, { target: 'price' }, 'rows.jsonl'),
      await read(parquet, { target: 'price' }, 'rows.parquet')
    ]
    for (const other of others) {
      expect(other.encoding).to.deep.equal(encoding)
      expect(other.train).to.deep.equal(train)
    }
  })

  it('reads Parquet whose last column has a dictionary, which may be most of the file', async () => {
    const numbers = Array.from({ length: 1000 }, (_, i) => i / 7)
    const columnData: ColumnSource[] = [
      { name: 'size', data: numbers.map((each) => -each) },
      { name: 'price', data: numbers, type: 'DOUBLE', encoding: 'RLE_DICTIONARY' }
    ]
    const { encoding } = await read(csv(numbers.map((price) => ({ size: -price, price }))), { target: 'price' })
    const parquet = new Uint8Array(parquetWriteBuffer({ columnData }))
    expect((await read(parquet, { target: 'price' }, 'dictionary.parquet')).encoding).to.deep.equal(encoding)
  })

  it('reads a row group of Parquet that has many cells as several blocks', async () => {
    const columnData = ['size', 'price'].map((name, column) => ({ name, data: Array.from({ length: 50 }, (_, row) => 100 * column + row) }))
    const file = await folder.write('groups.parquet', Buffer.from(parquetWriteBuffer({ columnData, rowGroupSize: 20 })))
    const blocks: RowBlock[] = []
    await readParquet(file, { header() {}, block: (block) => void blocks.push(block) }, {}, 15)
    expect(blocks.map(({ rows }) => rows)).to.deep.equal([7, 7, 6, 7, 7, 6, 7, 3])
    for (const [column, { data }] of columnData.entries()) expect(blocks.flatMap(({ columns }) => columns[column])).to.deep.equal(data)
  })

  it('reads a column of Parquet without any value, compressed by LZ4', async () => {
    // A block of LZ4 of nothing is a zero; one of less than 15 bytes is their number and the bytes.
    const lz4 = (bytes: Uint8Array) => Uint8Array.of(bytes.length << 4, ...bytes)
    const columnData: ColumnSource[] = [
      { name: 'size', data: [true, false, true, false] },
      { name: 'none', data: [null, null, null, null], type: 'INT32' },
      { name: 'price', data: [2, 4, 6, 8], type: 'INT32', codec: 'UNCOMPRESSED' }
    ]
    const parquet = parquetWriteBuffer({ columnData, codec: 'LZ4_RAW', compressors: { LZ4_RAW: lz4 } })
    const { columns } = await read(new Uint8Array(parquet), { target: 'price' }, 'lz4.parquet')
    expect(columns.map(({ kind }) => kind)).to.deep.equal(['category', 'ignored', 'target'])
  })

  it('reads lines that end in different ways, as of files that were joined', async () => {
    const [header, ...rows] = csv(ROWS).split('\n')
    const { train, encoding } = await read(csv(ROWS), { target: 'price' })
    const quoted = rows.map((row) => row.replace(/[^,]*$/, '"$&"'))
    const others = [
      `${header}\r\n${rows.join('\n')}\n`,
      `${header}\n${rows.join('\r\n')}\r\n`,
      `${header}\n${quoted.join('\r\n')}`,
      [header, ...rows].join('\r'),
      [header, ...rows].map((row, i) => `${row}${['\r\n', '\n', '\r'][i % 3]}`).join('')
    ]
    for (const [i, content] of others.entries()) {
      const other = await read(content, { target: 'price' })
      expect(other.encoding, String(i)).to.deep.equal(encoding)
      expect(other.train, String(i)).to.deep.equal(train)
    }
  })

  it('tells whole numbers of JSON Lines apart that are one number as float64', async () => {
    const ids = ['1234567890123456788', '1234567890123456789', '-9007199254740993', '9007199254740991']
    const row = (i: number) =>
      `{"zone": ${ids[i % 4]},"note":"\\"9007199254740993, \\\\", "x":${i}.12345678901234567890,"y":[1234567890123456789],"z":1${i}1234567890123456e-16}`
    const lines = Array.from({ length: 60 }, (_, i) => row(i)).join('\n')
    expect((await read(lines, { target: 'zone', task: 'classes' }, 'ids.jsonl')).classNames!.toSorted()).to.deep.equal(ids.toSorted())
    const { columns, encoding } = await read(lines, { target: 'x', categories: ['zone'] }, 'ids.jsonl')
    expect(columns[0]).to.include({ kind: 'category', values: 4 })
    expect(columns.map(({ reason }) => reason)).to.deep.equal([
      undefined,
      'all its values are "\\"9007199254740993, \\\\"',
      'a number',
      'all its values are "[\\"1234567890123456789\\"]"',
      undefined
    ])
    // As in CSV, they are numbers too.
    expect((await read(lines, { target: 'x' }, 'ids.jsonl')).columns[0]!.kind).to.equal('number')
    expect(encodeRows(encoding, [{ zone: '1234567890123456789', z: 1 }])).to.not.deep.equal(encodeRows(encoding, [{ zone: ids[0], z: 1 }]))
  })

  it('reads what Python writes into JSON Lines for numbers that are none', async () => {
    const row = (i: number) => `{"note": "NaN, -Infinity", "list": [NaN], "x": ${i % 5 === 0 ? 'NaN' : i / 2}, "y": ${i}}`
    const lines = Array.from({ length: 40 }, (_, i) => row(i))
    const { columns } = await read(lines.join('\n'), { target: 'y' }, 'python.jsonl')
    expect(columns.map(({ kind, missing, reason }) => [kind, missing, reason])).to.deep.equal([
      ['ignored', 0, 'all its values are "NaN, -Infinity"'],
      ['ignored', 0, 'all its values are "[null]"'],
      ['number', 8, undefined],
      ['target', 0, 'a number']
    ])
    lines[7] = lines[7]!.replace('3.5', '-Infinity')
    await refused('DATA_CORRUPT', () => read(lines.join('\n'), { target: 'y' }, 'python.jsonl'), 'line 8, column "x"', '"-Infinity"')
  })

  it('keeps quotes, delimiters and line ends within cells', async () => {
    const { classNames } = await read('x,y\n1,"a, ""b""\nc"\n2,d\n3.5,d\n', { target: 'y' })
    expect(classNames).to.deep.equal(['a, "b"\nc', 'd'])
  })

  const BAD: readonly [what: string, content: string | Uint8Array, target: string, code: ErrorCode, ...words: string[]][] = [
    ['a row that is too short', 'a,b\n1,2\n3\n', 'b', 'DATA_CORRUPT', 'line 3', 'expected 2 cells', 'line 1 ("a", "b")', 'found 1 ("3")'],
    [
      'a row that is too long',
      'a,b\n1,2\n3,4,5\n',
      'b',
      'DATA_CORRUPT',
      'line 3',
      'expected 2 cells',
      'found 3 ("3", "4", "5")',
      'double quotes'
    ],
    ['a title', 'My table\na,b\n1,2\n', 'b', 'DATA_CORRUPT', 'header', '"My table"', 'remove a title'],
    ['rows without names', '1.5,2,3\n2.5,3,4\n', 'b', 'DATA_CORRUPT', 'header', 'names of the columns in the first line', '"1.5"'],
    ['rows that begin alike without names', '1,1,3\n2,3,4\n', 'b', 'DATA_CORRUPT', 'header', 'names of the columns in the first line'],
    ["pandas's index", ',a,b\n0,1,2\n1,3,4\n', 'b', 'DATA_CORRUPT', 'column 1 without one', 'index=False'],
    [
      'names for classes',
      `a,b\n${Array.from({ length: 50 }, (_, i) => `${i % 4},name ${i}`).join('\n')}\n`,
      'b',
      'INVALID_OPTION',
      '50 different texts',
      '--task classes'
    ],
    ['a column that is not there', 'a,b\n1,2\n3,4\n', 'c', 'UNKNOWN_NAME', 'target', '"c"', 'a, b'],
    ['one class', 'a,b\n1,x\n3,x\n', 'b', 'INVALID_OPTION', 'all its values are "x"'],
    ['a constant number', 'a,b\n1,2.5\n3,2.5\n', 'b', 'INVALID_OPTION', 'target'],
    ['an empty file', '', 'b', 'DATA_CORRUPT', 'an empty file'],
    ['a header alone', 'a,b\n', 'b', 'DATA_CORRUPT', 'a header alone ("a", "b")', 'a line for each row'],
    ['a missing target', 'a,b\n1,x\n3,NaN\n5,y\n', 'b', 'DATA_CORRUPT', 'line 3, column "b"', '1 of 3 rows', 'NaN'],
    ['an infinite number', 'a,b\n1,x\n1e999,y\n', 'b', 'DATA_CORRUPT', 'line 3, column "a"'],
    ['two columns of a name', 'a,a\n1,2\n', 'a', 'DATA_CORRUPT', 'different names'],
    ['a column without a name', 'a,,b\n1,2,3\n', 'b', 'DATA_CORRUPT', 'column 2'],
    ['an open quote', 'a,b\n"1,2\n3,4\n', 'b', 'DATA_CORRUPT', 'closing double quote'],
    ['a quote within a cell', 'a,b\n"1"x,2\n3,4\n', 'b', 'DATA_CORRUPT', 'line 2', 'quote'],
    ['Latin 1', Uint8Array.of(0x61, 0x2c, 0x62, 0x0a, 0xe9, 0x2c, 0x31, 0x0a), 'b', 'DATA_CORRUPT', 'UTF-8'],
    ['UTF-16', Buffer.from('a,b\n1,2\n', 'utf16le'), 'b', 'DATA_CORRUPT', 'UTF-8'],
    ['nothing to predict by', 'a,b\n1,x\n1,y\n', 'b', 'DATA_CORRUPT', '"a": all its values are "1"'],
    ['a cell of 20 MB', `a,b\n${'x'.repeat(2e7)},2\n`, 'b', 'DATA_CORRUPT', 'a row of at most']
  ]
  for (const [what, content, target, code, ...words] of BAD)
    it(`refuses ${what}`, async () => {
      await refused(code, () => read(content, { target }), ...words)
    })

  it('says of Parquet with more values in a row group than are decoded how to write it, and not that it is damaged', async () => {
    const parquet = Buffer.from(parquetWriteBuffer({ columnData: [{ name: 'a', data: [1, 2, 3] }] }))
    const end = parquet.length - 8
    const metadata = parquet.subarray(end - parquet.readUInt32LE(end), end)
    // The column's number of values, two 64-bit numbers in a row: 3 becomes 2 ** 25, as of lists that have so many together.
    const at = metadata.indexOf(Buffer.from([0x16, 0x06, 0x16]))
    const changed = Buffer.concat([metadata.subarray(0, at + 1), Buffer.from([0x80, 0x80, 0x80, 0x20]), metadata.subarray(at + 2)])
    const length = Buffer.alloc(4)
    length.writeUInt32LE(changed.length)
    const file = Buffer.concat([parquet.subarray(0, end - metadata.length), changed, length, Buffer.from('PAR1')])
    await refused(
      'OUT_OF_MEMORY',
      () => read(file, { target: 'a' }, 'many.parquet'),
      'many.parquet: a row group has 33554432 values of column "a"',
      'smaller row groups'
    )
  })

  it('refuses damaged Parquet and JSON Lines, and other files', async () => {
    const parquet = new Uint8Array(parquetWriteBuffer({ columnData: [{ name: 'a', data: [1, 2, 3] }] }))
    await refused('DATA_CORRUPT', () => read(parquet.subarray(0, 20), { target: 'a' }, 'cut.parquet'), 'a Parquet file', 'PAR1: it is cut')
    const encrypted = Buffer.concat([parquet.subarray(0, -1), Buffer.from('E')])
    await refused('DATA_CORRUPT', () => read(encrypted, { target: 'a' }, 'encrypted.parquet'), 'metadata is encrypted')
    await refused('DATA_CORRUPT', () => read('{"a":1}\n[2]\n', { target: 'a' }, 'list.jsonl'), 'line 2', 'a JSON object')
    await refused('DATA_CORRUPT', () => read('{"a":1}\n{"a":1,"b":2}\n', { target: 'a' }, 'keys.jsonl'), 'line 2', '"b"')
    await refused('DATA_NOT_FOUND', () => datasetFromTable({ file: join(folder.path, 'none.csv'), target: 'a' }), 'none.csv')
    await refused('INVALID_OPTION', () => read(csv(ROWS), {}), 'target')
    await refused('INVALID_OPTION', () => read(csv(ROWS), { target: 'colour', task: 'numbers' }), 'target', '"red"')
  })

  it('refuses new rows without a column, and texts where numbers are', async () => {
    const { encoding } = await read(csv(ROWS), { target: 'price' })
    const row = { size: 1, colour: 'red', day: '2024-02-03' }
    await refused('INVALID_OPTION', () => encodeRows(encoding, [row, { ...row, colour: undefined }, { size: 1 }]), 'rows[2]', '"colour"')
    await refused('INVALID_OPTION', () => encodeRows(encoding, [{ ...row, size: 'tall' }]), 'rows[0].size', '"tall"')
    await refused('INVALID_OPTION', () => encodeRows(encoding, [{ ...row, day: 'monday' }]), 'rows[0].day', 'date')
    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    await refused('INVALID_OPTION', () => encodeRows(encoding, [{ ...row, size: circle }]), 'rows[0].size')
    expect(encodeRows(encoding, [{ ...row, colour: circle }])).to.deep.equal(encodeRows(encoding, [{ ...row, colour: 'another one' }]))
  })

  it('encodes the rows of another table as those of the training', async () => {
    const { encoding, train, test } = await read(csv(ROWS), { target: 'price' })
    const again = await datasetByEncoding(join(folder.path, 'rows.csv'), encoding)
    expect(again.test.count).to.equal(train.count + test.count)
    const first = (samples: ArrayLike<number>, row: number) => Array.from(samples).slice(7 * row, 7 * row + 7)
    // The last row is trained on, or held out.
    const found = [train, test].map(({ samples, count }) => first(samples, count - 1))
    expect(found).to.deep.include(first(again.test.samples, 39))
    const colours = await read(csv(ROWS.slice(0, 6)), { target: 'colour' }, 'colours.csv')
    await refused(
      'DATA_CORRUPT',
      () => datasetByEncoding(join(folder.path, 'rows.csv'), colours.encoding, colours.classNames),
      'line 9, column "colour"',
      '"violet"',
      '"blue", "green", "red"'
    )
    const faulty = async (name: string, from: string, to: string) => folder.write(name, Buffer.from(csv(ROWS).replace(from, to)))
    const size = await faulty('size.csv', '3,1,', '3,"1,5",')
    await refused('DATA_CORRUPT', () => datasetByEncoding(size, encoding), 'size.csv', 'line 4, column "size"', '"1,5"', '1234.5')
    const huge = await faulty('huge.csv', ',XX,100\n', ',XX,1e300\n')
    await refused('DATA_CORRUPT', () => datasetByEncoding(huge, encoding), 'huge.csv', 'line 2, column "price"', '"1e300"')
    const lacks = await faulty('lacks.csv', 'size,colour', 'Size,color')
    await refused('UNKNOWN_NAME', () => datasetByEncoding(lacks, encoding), 'lacks.csv', '"size", "colour"', 'price')
    const price = await faulty('price.csv', 'price', 'prize')
    await refused('UNKNOWN_NAME', () => datasetByEncoding(price, encoding), 'price.csv', '"price"', 'did you mean prize?')
  })

  it('holds much less than its texts in memory', async () => {
    const lines = Array.from({ length: 20_000 }, (_, i) => `${i % 7},${'word '.repeat(20)}${i},${i * 0.5}`)
    const { columns } = await read(`a,b,c\n${lines.join('\n')}\n`, { target: 'c' })
    expect(columns[1]!.reason).to.match(/^more than 10000 different texts, as "word word /)
  })
})
