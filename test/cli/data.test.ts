import { expect } from 'chai'
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Folder } from '../data/support/files.js'
import { dropping, FileServer, sending, sendingSlowly } from '../data/support/file-server.js'
import { requireData } from '../support/data.js'
import { run } from './support/arbalest.js'

const MNIST = ['train-images-idx3-ubyte.gz', 'train-labels-idx1-ubyte.gz', 't10k-images-idx3-ubyte.gz', 't10k-labels-idx1-ubyte.gz']

describe('arbalest data', () => {
  let folder: Folder
  beforeEach(async () => (folder = await Folder.make()))
  afterEach(() => folder[Symbol.asyncDispose]())

  it('gets a data set from a mirror that breaks off, leaves what is there, and finds it whole', async function () {
    const from = requireData(this, 'mnist')
    const files = Object.fromEntries(MNIST.map((name) => [name, readFileSync(join(from, name))]))
    await using server = await FileServer.with({
      ...Object.fromEntries(Object.entries(files).map(([name, bytes]) => [name, sending(bytes)])),
      [MNIST[0]!]: dropping(files[MNIST[0]!]!, 4_000_000)
    })
    const get = () => run(['data', 'get', 'mnist', '--data-dir', folder.path, '--mirror', `${server.url}/`, '--json'])
    const { code, lines, stderr } = await get()
    expect(code, stderr).to.equal(0)
    expect(lines.map(({ event, file, was }) => [event, file, was])).to.deep.equal(
      MNIST.map((name) => ['got', name.slice(0, -3), 'fetched'])
    )
    const asked = server.asked.length
    expect(asked).to.be.above(4)
    expect((await get()).lines.map(({ was }) => was)).to.deep.equal(MNIST.map(() => 'there'))
    expect(server.asked).to.have.length(asked)
    const checked = await run(['data', 'check', 'mnist', '--data-dir', folder.path])
    expect([checked.code, checked.stdout]).to.deep.equal([0, 'data   is      files\nmnist  whole  4 of 4\n'])
  })

  it('gets a data set once where two processes get it at the same time', async function () {
    const from = requireData(this, 'mnist')
    const files = MNIST.map((name) => [name, sendingSlowly(readFileSync(join(from, name)))] as const)
    await using server = await FileServer.with(Object.fromEntries(files))
    const get = () => run(['data', 'get', 'mnist', '--data-dir', folder.path, '--mirror', server.url, '--json'])
    const both = await Promise.all([get(), get()])
    for (const { code, stderr } of both) expect(code, stderr).to.equal(0)
    const fetched = both.flatMap(({ lines }) => lines.filter(({ was }) => was === 'fetched').map(({ file }) => `${String(file)}.gz`))
    expect(fetched.sort()).to.deep.equal(MNIST.toSorted())
    expect(server.asked).to.deep.equal([0, 0, 0, 0])
    expect(readdirSync(join(folder.path, 'mnist')).sort()).to.deep.equal(MNIST.toSorted())
  })

  it('checks what lies in a folder, and fails for files that are wrong', async function () {
    const from = requireData(this, 'mnist')
    mkdirSync(join(folder.path, 'mnist'))
    for (const name of MNIST) cpSync(join(from, name), join(folder.path, 'mnist', name))
    const check = (...names: string[]) => run(['data', 'check', ...names, '--data-dir', folder.path, '--json'])
    const states = async (...names: string[]) => {
      const { code, lines } = await check(...names)
      return [code, Object.fromEntries(lines.map(({ data, state }) => [data, state]))]
    }
    const others = { 'fashion-mnist': 'missing', 'cifar-10': 'missing', 'cifar-100': 'missing', tinyshakespeare: 'missing' }
    expect(await states()).to.deep.equal([0, { mnist: 'whole', ...others }])
    rmSync(join(folder.path, 'mnist', MNIST[3]!))
    expect(await states()).to.deep.equal([1, { mnist: 'incomplete', ...others }])
    const labels = join(folder.path, 'mnist', MNIST[1]!)
    writeFileSync(labels, readFileSync(labels).subarray(0, 20_000))
    expect(await states('mnist')).to.deep.equal([1, { mnist: 'wrong' }])
    const { stdout } = await run(['data', 'check', 'mnist', '--data-dir', folder.path])
    expect(stdout).to.include(`${labels} is not the published file`)
    expect((await run(['data', 'get', 'mnist', '--data-dir', folder.path])).stderr).to.match(/^DATA_CORRUPT: .*move it away/)
    expect(await states('cifar-100')).to.deep.equal([1, { 'cifar-100': 'missing' }])
  })

  it('refuses names and addresses that are none, and is named where a data set is missing', async () => {
    const failed = async (...args: string[]) => (await run(['data', ...args, '--data-dir', folder.path])).stderr
    expect(await failed('get', 'imagenet')).to.match(/^UNKNOWN_NAME: .*"imagenet".*mnist/)
    expect(await failed('get', 'mnist', '--mirror', 'nowhere')).to.match(/^INVALID_OPTION: --mirror: received "nowhere"/)
    expect(await failed('check', 'imagenet')).to.match(/^UNKNOWN_NAME: /)
    expect((await run(['data', 'check', '--data-dir', ''])).stderr).to.match(/^INVALID_OPTION: --data-dir: received ""/)
    const missing = await run(['train', '--data', 'mnist', '--data-dir', folder.path])
    expect(missing.stderr)
      .to.match(/^DATA_NOT_FOUND: /)
      .and.include(`or fetch them: arbalest data get mnist --data-dir "${folder.path}"\n`)
  })
})
