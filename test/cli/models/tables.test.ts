import { expect } from 'chai'
import { parquetWriteBuffer, type ColumnSource } from 'hyparquet-writer'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { datasetByEncoding } from '../../../src/data/datasets.js'
import type { LabelledEncoding } from '../../../src/formats/encoding.js'
import { train } from '../../../src/run/train.js'
import { loadModel } from '../../../src/trained/load-model.js'
import { Folder } from '../../data/support/files.js'
import { run } from '../support/arbalest.js'

/** Prices by area and district, which a linear model learns. */
const ROWS = Array.from({ length: 300 }, (_, i) => {
  const [area, district] = [40 + ((i * 37) % 160), ['north', 'south', 'harbour'][i % 3]!]
  return { area, district, price: 2000 * area + 50_000 * (i % 3) }
})

const table = (rows: readonly object[]) => [Object.keys(rows[0]!), ...rows.map(Object.values)].map((row) => row.join(',')).join('\n')

describe('arbalest on a table', () => {
  let folder: Folder
  let file: string
  let model: string
  before(async () => {
    folder = await Folder.make()
    file = await folder.write('prices.csv', Buffer.from(table(ROWS)))
    model = join(folder.path, 'prices.safetensors')
  })
  after(() => folder[Symbol.asyncDispose]())

  it('trains an mlp of its columns, tells them, and measures in the unit of the target', async () => {
    const { code, lines, stderr } = await run(['train', '--data', file, '--target', 'price', '--save', model, '--json'])
    expect(code, stderr).to.equal(0)
    const started = lines.find(({ event }) => event === 'started')!
    expect(started).to.include({ model: 'mlp', data: 'prices.csv', samples: 270 })
    expect((started['columns'] as { kind: string }[]).map(({ kind }) => kind)).to.deep.equal(['number', 'category', 'target'])
    const finished = lines.at(-1) as unknown as { testAccuracy: null; testMetrics: { r2: number; mae: number } }
    expect(finished.testAccuracy).to.equal(null)
    expect(finished).to.not.have.property('hint')
    expect(finished.testMetrics.r2).to.be.above(0.95)
    // A share of the prices, which are 80,000 to 498,000.
    expect(finished.testMetrics.mae).to.be.within(10, 20_000)
  })

  it('writes the header alone of a table without rows, and refuses one that has not even that', async () => {
    const bare = await folder.write('bare.csv', Buffer.from('area,district\n'))
    expect(await run(['predict', model, bare])).to.include({ code: 0, stdout: 'area,district,predicted price\n' })
    for (const name of ['empty.csv', 'empty.jsonl']) {
      const { code, stdout, stderr } = await run(['predict', model, await folder.write(name, Buffer.from(''))])
      expect({ code, stdout }, name).to.deep.equal({ code: 1, stdout: '' })
      expect(stderr).to.match(/^DATA_CORRUPT: .* found an empty file; add the rows\n$/)
    }
  })

  it('writes predictions behind new rows, as CSV and as JSON, and in a program', async () => {
    const rows = [
      { note: 'a, b', area: 100, district: 'south' },
      { note: 'c', area: 60, district: 'unheard of' }
    ]
    const csv = await folder.write('new.csv', Buffer.from('note,area,district\n"a, b",100,south\n c ,60,unheard of\n'))
    const { stdout, code, stderr } = await run(['predict', model, csv])
    expect(code, stderr).to.equal(0)
    const [header, first, second] = stdout.split('\n') as [string, string, string]
    expect(header).to.equal('note,area,district,predicted price')
    expect(first).to.match(/^"a, b",100,south,\d+/)
    expect(second).to.match(/^ c ,60,unheard of,\d+/)
    const price = Number(first.split(',').at(-1))
    expect(price).to.be.within(220_000, 280_000)
    expect(stderr).to.equal(
      `${csv}: column "district": 1 row has a value that the model does not know, as "unheard of" in line 3: it counts as one of its rare values\n`
    )
    const predicted = await folder.write('predicted.csv', Buffer.from(stdout))
    expect((await run(['predict', model, predicted])).stdout, 'what was predicted before is predicted anew').to.equal(stdout)
    const { lines } = await run(['predict', model, csv, '--json'])
    expect(lines[0]).to.deep.equal({ note: 'a, b', area: '100', district: 'south', 'predicted price': price })
    const loaded = await loadModel(model)
    expect([...loaded.predict(rows)][0]).to.equal(price)
  })

  it('writes the whole numbers of Parquet as numbers, but for those that no number holds', async () => {
    const columnData: ColumnSource[] = [
      { name: 'area', data: [100n, 60n] },
      { name: 'district', data: ['south', 'north'] },
      { name: 'id', data: [7n, 9007199254740993n] }
    ]
    const parquet = await folder.write('new.parquet', Buffer.from(parquetWriteBuffer({ columnData })))
    const { lines, stderr } = await run(['predict', model, parquet, '--json'])
    expect(lines, stderr).to.have.lengthOf(2)
    expect(lines[0]).to.deep.include({ area: 100, district: 'south', id: 7 })
    expect(lines[1]).to.deep.include({ area: 60, district: 'north', id: '9007199254740993' })
  })

  it('takes the delimiter that a table has, to train, to predict and to measure', async () => {
    const colons = await folder.write('colons.csv', Buffer.from(table(ROWS).replaceAll(',', ':')))
    const flags = [colons, '--delimiter', ':']
    const saved = join(folder.path, 'colons.safetensors')
    const trained = await run([
      'train',
      '--data',
      ...flags,
      '--target',
      'price',
      '--steps',
      '20',
      '--learners',
      '1',
      '--save',
      saved,
      '--json'
    ])
    expect(trained.code, trained.stderr).to.equal(0)
    const predicted = await run(['predict', saved, ...flags])
    expect(predicted.stdout.split('\n')[0], predicted.stderr).to.equal('area,district,price,predicted price')
    const measured = await run(['eval', saved, '--data', ...flags, '--json'])
    expect(measured.lines[0], measured.stderr).to.include({ samples: 300 })
    for (const wrong of ['"', '\n', '']) {
      const said = /^INVALID_OPTION: --delimiter: received .*; give one character that is neither a double quote nor a line end\n$/
      for (const args of [
        ['train', '--target', 'price', '--data'],
        ['predict', saved],
        ['eval', saved, '--data']
      ])
        expect((await run([...args, colons, '--delimiter', wrong])).stderr, args[0]).to.match(said)
    }
  })

  it('keeps a column `probability` of the table beside its own', async () => {
    const rows = ROWS.map(({ area }, i) => ({ area, probability: (i % 10) / 10, answer: area > 100 ? 'yes' : 'no' }))
    const [csv, saved] = [await folder.write('chances.csv', Buffer.from(table(rows))), join(folder.path, 'chances.safetensors')]
    await run(['train', '--data', csv, '--target', 'answer', '--steps', '20', '--learners', '1', '--save', saved])
    const { stdout, stderr } = await run(['predict', saved, csv])
    const [header, , second] = stdout.split('\n').map((line) => line.split(','))
    expect(header, stderr).to.deep.equal(['area', 'probability', 'answer', 'predicted answer', 'probability of answer'])
    expect(second!.slice(0, 3)).to.deep.equal(Object.values(rows[1]!).map(String))
    const again = await folder.write('again.csv', Buffer.from(stdout))
    expect((await run(['predict', saved, again])).stdout).to.equal(stdout)
    const { lines } = await run(['predict', saved, csv, '--json'])
    expect(lines[1]).to.include({ probability: '0.1' }).and.to.have.keys(header!)
    const plain = rows.map(({ area, answer }) => ({ area, answer }))
    await run([
      'train',
      '--data',
      await folder.write('plain.csv', Buffer.from(table(plain))),
      '--target',
      'answer',
      '--steps',
      '20',
      '--learners',
      '1',
      '--save',
      saved
    ])
    const first = await run(['predict', saved, join(folder.path, 'plain.csv')])
    expect(first.stdout).to.match(/^area,answer,predicted answer,probability\n/)
    expect((await run(['predict', saved, await folder.write('twice.csv', Buffer.from(first.stdout))])).stdout).to.equal(first.stdout)
  })

  it('writes the rows of several tables of the same columns as one table', async () => {
    const [one, two] = [
      await folder.write('one.csv', Buffer.from('area,district\n50,north\n')),
      await folder.write('two.csv', Buffer.from('area,district\n60,north\n'))
    ]
    const other = await folder.write('other.csv', Buffer.from('district,area\nnorth,70\n'))
    const { stdout, stderr } = await run(['predict', model, one, two, other, other])
    expect(
      stdout.split('\n').map((line) => line.replace(/[^,]*$/, '')),
      stderr
    ).to.deep.equal(['area,district,', '50,north,', '60,north,', 'district,area,', 'north,70,', 'north,70,', ''])
  })

  it('names file, line, column and value of what cannot be predicted by', async () => {
    const rows = Array.from({ length: 2000 }, (_, i) => `${i === 1500 ? '82,5' : 40 + (i % 90)};north`)
    const csv = await folder.write('commas.csv', Buffer.from(['area;district', '', ...rows].join('\n')))
    const said =
      /^DATA_CORRUPT: .*commas\.csv: line 1503, column "area": expected a finite number, found "82,5"; correct it \(write it as 1234\.5\), or leave the cell empty\n$/
    const { stderr, code } = await run(['predict', model, csv])
    expect([code, stderr]).to.satisfy(([status, text]: [number, string]) => status === 1 && said.test(text), stderr)
  })

  it('measures on other rows by the encoding of the training, while it trains too', async () => {
    // Other means and stds than those of the training.
    const other = await folder.write('larger.csv', Buffer.from(table(ROWS.filter(({ area }) => area > 120))))
    const job = train({ model: 'mlp', data: file, table: { target: 'price' }, until: { steps: 1e6 } })
    await new Promise((resolve) => job.once('evaluated', resolve))
    await job.actors.synchroniser.ask.pause()
    const { samples, testLoss } = await job.actors.evaluator.ask.measure(other)
    job.stop()
    // A model of the same table: it has the same encoding.
    const { encoding } = await loadModel(model)
    const measured = await job.model.evaluate(await datasetByEncoding(other, encoding as LabelledEncoding))
    expect(measured).to.include({ samples, testLoss })
  })

  it('measures on other rows by the encoding that the model keeps', async () => {
    const { lines, stderr } = await run(['eval', model, '--data', file, '--json'])
    expect(lines[0], stderr).to.include({ samples: 300, testAccuracy: null })
    expect((lines[0]!['testMetrics'] as { r2: number }).r2).to.be.above(0.95)
    expect((await run(['eval', model])).stderr).to.equal(
      'INVALID_OPTION: --data: received nothing; name a table with the columns "area", "district", "price" (--data FILE.csv) to measure model mlp on\n'
    )
  })

  it('refuses what a table does not take, by the flag', async () => {
    const refusal = async (...flags: string[]) => (await run(['train', ...flags])).stderr.trim()
    expect(await refusal('--data', file)).to.equal(
      'INVALID_OPTION: --target: received nothing; name the column that is predicted (--target)'
    )
    expect(await refusal('--data', file, '--target', 'prize')).to.match(/^UNKNOWN_NAME: --target: received "prize"; use one of .*price/)
    expect(await refusal('--data', file, '--target', 'price', '--until-accuracy', '0.9')).to.match(
      /^INVALID_OPTION: --until-accuracy: received 0.9; the model gives numbers/
    )
    expect(await refusal('--data', file, '--target', 'price', '--monitor', 'accuracy')).to.match(/^INVALID_OPTION: --monitor: /)
    expect(await refusal('--data', 'digits', '--target', 'price')).to.match(/^INVALID_OPTION: --target: received "price"; leave it out/)
    const csv = await folder.write('lacks.csv', Buffer.from('area\n1\n'))
    expect((await run(['predict', model, csv])).stderr).to.match(
      /^UNKNOWN_NAME: .*lacks\.csv: it has no column "district", .*\(it has "area"\)/
    )
    expect((await run(['predict', model, 'three.png'])).stderr).to.match(/^INVALID_OPTION: inputs: .*takes rows/)
    expect((await run(['predict', model, csv, '--top', '2'])).stderr).to.match(
      /^INVALID_OPTION: --top: received "2"; leave it out: the model gives numbers/
    )
    expect((await run(['eval', model, '--data', file, '--data-dir', folder.path])).stderr).to.match(
      /^INVALID_OPTION: --data-dir: .*is a path/
    )
  })

  it('tells that a model has learnt nothing, on the terminal and in its last event', async () => {
    // What is predicted has nothing to do with the columns.
    const rows = Array.from({ length: 200 }, (_, i) => ({
      x: (i * 7919) % 101,
      y: (i * 104_729) % 9973,
      answer: i % 5 === 0 ? 'yes' : 'no'
    }))
    const csv = await folder.write('chance.csv', Buffer.from(table(rows)))
    const hint = /the test accuracy is not above 80\.00%, which class "no" as the answer to every sample has: the model has learnt nothing/
    const { lines } = await run(['train', '--data', csv, '--target', 'answer', '--steps', '20', '--json'])
    expect(lines.at(-1)!['hint']).to.match(hint)
    const { stdout } = await run(['train', '--data', csv, '--target', 'y', '--steps', '20', '--lr', '0.000001'])
    expect(stdout).to.match(/\nhint: R2 is not above 0, .*the model has learnt nothing/)
  })

  it('refuses a model whose encoding was changed', async () => {
    const bytes = await readFile(model)
    const forged = Buffer.from(bytes.toString('latin1').replace('\\"missing\\":false', '\\"missing\\":true '), 'latin1')
    const path = join(folder.path, 'forged.safetensors')
    await writeFile(path, forged)
    const { stderr } = await run(['predict', path, file])
    expect(stderr).to.match(/^DATA_CORRUPT: .*metadata encoding: expected an encoding that gives \(5\), found one that gives \(6\)/)
  })
})
