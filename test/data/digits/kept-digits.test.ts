import { chmod, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import { readOrDraw } from '../../../src/data/digits/kept-digits.js'
import { rejection } from '../../support/rejection.js'
import { unprivileged } from '../../support/unprivileged.js'

describe('kept digits', () => {
  let folder: string
  let file: string
  let drawings: number

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'kept-digits-'))
    file = join(folder, 'below', 'digits.bin')
    drawings = 0
  })
  afterEach(() => rm(folder, { recursive: true }))

  /** Two arrays as they are read or drawn. The larger one takes several reads. */
  async function arrays(): Promise<readonly Uint8Array[]> {
    const [labels, samples] = [new Uint8Array(3), new Uint8Array(2_500_000)]
    await readOrDraw(file, [labels, samples], async () => {
      drawings++
      labels.set([7, 1, 4])
      samples.forEach((_, i) => (samples[i] = i % 251))
    })
    expect([...labels]).to.deep.equal([7, 1, 4])
    expect(samples.every((value, i) => value === i % 251)).to.equal(true)
    return [labels, samples]
  }

  it('are drawn once, and read from then on', async () => {
    for (let time = 0; time < 3; time++) await arrays()
    expect(drawings).to.equal(1)
  })

  it('are drawn again where the file is damaged, too short, too long or no file, which is then replaced', async () => {
    await arrays()
    const content = await readFile(file)
    const damages = [
      async () => writeFile(file, content.with(1_500_000, content[1_500_000]! ^ 1)),
      async () => writeFile(file, content.with(0, content[0]! ^ 1)),
      async () => truncate(file, content.length - 1),
      async () => truncate(file, 0),
      async () => writeFile(file, Buffer.concat([content, Buffer.alloc(1)]))
    ]
    for (const [i, damage] of damages.entries()) {
      await damage()
      for (let time = 0; time < 2; time++) await arrays()
      expect(drawings, `damage ${i}`).to.equal(2 + i)
    }
    await rm(file)
    await mkdir(file)
    await arrays()
    expect(drawings).to.equal(2 + damages.length)
  })

  it('are drawn where the folder cannot be written or made, which is no error', async () => {
    await chmod(folder, 0o755)
    await unprivileged(async () => void (await arrays()))
    expect(drawings).to.equal(1)
    expect(await readdir(folder)).to.deep.equal([])
    await writeFile(join(folder, 'below'), 'no folder')
    await arrays()
    expect(drawings).to.equal(2)
    expect(await readdir(folder)).to.deep.equal(['below'])
  })

  it('are whole for processes that draw at the same time', async () => {
    await Promise.all([arrays(), arrays(), arrays()])
    expect(await readdir(join(folder, 'below'))).to.deep.equal(['digits.bin'])
    const before = drawings
    await arrays()
    expect(drawings).to.equal(before)
  })

  it('are not kept where drawing fails, which is an error', async () => {
    const draw = () => Promise.reject(new Error('no ink'))
    expect(await rejection(readOrDraw(file, [new Uint8Array(3)], draw))).to.have.property('message', 'no ink')
    expect(await readdir(folder)).to.deep.equal([])
  })
})
