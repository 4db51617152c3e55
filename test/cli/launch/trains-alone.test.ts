import { expect } from 'chai'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { Folder } from '../../data/support/files.js'
import { run } from '../support/arbalest.js'
import { FewDigits } from '../support/few-digits.js'

const few = await FewDigits.make()
after(() => few[Symbol.asyncDispose]())

describe('A process of a launcher that trains for itself', () => {
  it('speaks and saves its model, whatever its rank', async () => {
    await using folder = await Folder.make()
    const model = join(folder.path, 'model.safetensors')
    const words = ['train', '--model', 'mlp', ...few.flags, '--learners', '1', '--batch', '8', '--steps', '5', '--save', model, '--json']
    const second = { OMPI_COMM_WORLD_RANK: '1', OMPI_COMM_WORLD_SIZE: '2' }
    const { code, lines, stderr } = await run([...words, '--hosts', 'none'], { env: second })
    expect(code, stderr).to.equal(0)
    expect(lines.at(-1)).to.include({ event: 'finished', iterations: 5 })
    expect(existsSync(model)).to.equal(true)
  })
})
