import { expect } from 'chai'
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { datasetFromTable } from '../src/data/datasets.js'
import { loadModel } from '../src/trained/load-model.js'
import { train } from '../src/run/train.js'
import { refused } from './support/codes.js'

describe('A path that does not exist', () => {
  let folder: string
  const at = (name: string) => join(folder, name)
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'arbalest-similar-'))
    await mkdir(at('tables'))
    for (const name of ['houses.csv', 'prices.csv', 'digits.safetensors', 'evil\u202Ename.csv', 'tables/boats.csv'])
      await writeFile(at(name), 'a,b\n1,2\n')
  })
  after(() => rm(folder, { recursive: true }))

  it('is answered with the files that resemble it', async () => {
    const table = (name: string, ...words: string[]) =>
      refused('DATA_NOT_FOUND', () => datasetFromTable({ file: at(name), target: 'b' }), ...words)
    await table('huoses.csv', `did you mean ${at('houses.csv')}?`)
    await table('Houses.CSV', `did you mean ${at('houses.csv')}?`)
    await table('table/boats.csv', `did you mean ${at('tables/boats.csv')}?`)
    await table('evilname.csv', 'did you mean', 'evil\\u{202e}name.csv?')
    await refused('DATA_NOT_FOUND', () => loadModel(at('digit.safetensors')), `did you mean ${at('digits.safetensors')}?`)
    await refused(
      'INVALID_OPTION',
      () => loadModel(at('digits.safetensors'), { bset: true } as never),
      'bset: received true',
      'did you mean best?'
    )
    await refused(
      'INVALID_OPTION',
      async () => train({ model: 'mlp', data: at('housess.csv'), table: { target: 'b' } }),
      `did you mean ${at('houses.csv')}?`
    )
    await refused('INVALID_OPTION', async () => train({ model: 'mlp', data: at('houses') }), `did you mean ${at('houses.csv')}?`)
  })

  it('has no suggestion where nothing resembles it', async () => {
    const said = await datasetFromTable({ file: at('flowers.csv'), target: 'b' }).catch(String)
    expect(said).to.include('cannot be read')
    expect(said).to.not.include('did you mean')
    expect(await datasetFromTable({ file: '/nowhere/at/all.csv', target: 'b' }).catch(String)).to.not.include('did you mean')
  })
})
