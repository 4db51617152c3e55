import { expect } from 'chai'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkAddressSpace } from '../../src/runtime/address-space.js'
import { run } from '../cli/support/arbalest.js'
import { Folder } from '../data/support/files.js'
import { refused } from '../support/codes.js'

describe('The address space', function () {
  this.timeout(60_000)

  it('is checked before a thread is started, where it is limited', async () => {
    await using folder = await Folder.make()
    const proc = async (name: string, limit: string, kilobytes: number) => {
      const path = join(folder.path, name)
      await mkdir(path)
      await writeFile(join(path, 'limits'), `Max open files 64 64 files\nMax address space         ${limit}   unlimited  bytes\n`)
      await writeFile(join(path, 'status'), `VmPeak:\t9\nVmSize:\t${kilobytes} kB\n`)
      return path
    }
    checkAddressSpace(99, await proc('unlimited', 'unlimited', 2 ** 31))
    checkAddressSpace(99, join(folder.path, 'hidden'))
    const limited = await proc('limited', String(4 * 2 ** 30), 2 ** 21)
    checkAddressSpace(1, limited)
    await refused(
      'OUT_OF_MEMORY',
      () => checkAddressSpace(2, limited),
      'ulimit -v: received 4.0 GiB',
      '2.0 GiB are in use',
      'fewer learners'
    )
  })

  it('fails a run with a code where V8 would end the process', async () => {
    const command = 'ulimit -v 2000000; exec "$0" "$@"'
    const train = ['train', '--model', 'mlp', '--data', 'digits', '--learners', '2', '--batch', '16', '--steps', '20']
    const { code, signal, stderr } = await run(train, { through: ['sh', '-c', command] })
    expect([code, signal], stderr).to.deep.equal([1, null])
    expect(stderr).to.match(/^OUT_OF_MEMORY: .*ulimit -v: received 1\.9 GiB/m)
  })
})
