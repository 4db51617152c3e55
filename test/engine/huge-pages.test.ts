import { expect } from 'chai'
import { existsSync, readFileSync } from 'node:fs'
import { engine } from '../../src/engine/native.js'
import { skip } from '../support/skip.js'

/** Bytes of this process's memory that the system may put on huge pages. */
function onHugePages(): number {
  const mappings = readFileSync('/proc/self/smaps', 'utf8').split(/\n(?=[0-9a-f]+-[0-9a-f]+ )/)
  const wanted = mappings.filter((mapping) => /^VmFlags:.* hg( |$)/m.test(mapping))
  return wanted.reduce((sum, mapping) => sum + 1024 * Number(/^Size:\s+(\d+) kB$/m.exec(mapping)![1]), 0)
}

describe('Samples in engine memory', () => {
  const bytes = 64 * 2 ** 20

  it('lie on huge pages, since a batch is gathered from anywhere', function () {
    if (!existsSync('/sys/kernel/mm/transparent_hugepage')) skip(this, 'this system has no huge pages')
    const count = bytes / 1024
    const before = onHugePages()
    const dataset = engine.createDataset({
      count,
      sample: [1024],
      samples: new Uint8Array(bytes),
      labels: new Int32Array(count),
      classes: 1
    })
    const during = onHugePages()
    engine.release(dataset)
    expect(during - before).to.be.within(bytes, bytes + 2 ** 21)
    expect(onHugePages()).to.equal(before)
  })
})
