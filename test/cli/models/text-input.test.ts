import { expect } from 'chai'
import { truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { textInput } from '../../../src/cli/models/text-input.js'
import { Folder } from '../../data/support/files.js'
import { rejection } from '../../support/rejection.js'

describe('A text for a model', () => {
  let folder: Folder
  before(async () => {
    folder = await Folder.make()
    await folder.write('letter.txt', Buffer.from('Dear all'))
    await folder.write('reviews.csv', Buffer.from('text\nDear all\n'))
  })
  after(() => folder[Symbol.asyncDispose]())

  it('is that of a file, or the input itself', async () => {
    const file = join(folder.path, 'letter.txt')
    expect(await textInput(file)).to.deep.equal({ text: 'Dear all', file })
    for (const text of ['Dear all', '', 'Great.Really', 'either/or', 'I read letter.txt', 'one.two.three', 'https://example.org/a.html'])
      expect(await textInput(text)).to.deep.equal({ text })
  })

  it('is refused where it is the name of a file that is missing', async () => {
    const refused = async (input: string) => String(await rejection(textInput(input)))
    expect(await refused(join(folder.path, 'leter.txt')))
      .to.include('there is no such file')
      .and.to.include('letter.txt?')
    expect(await refused(join(folder.path, 'reviews.cvs'))).to.include('reviews.csv?')
    expect(await refused('missing.txt')).to.match(/inputs: received "missing.txt"; there is no such file/)
  })

  it('is refused where it is not text, or too much of it', async () => {
    const refused = async (input: string) => String(await rejection(textInput(input)))
    expect(await refused(folder.path)).to.include('it is not a file')
    expect(await refused(await folder.write('latin.txt', Buffer.from([0xe9])))).to.include('UTF-8')
    const large = await folder.write('large.txt', Buffer.from(''))
    await truncate(large, 2 ** 34)
    expect(await refused(large)).to.include('17.2 GB')
  })
})
