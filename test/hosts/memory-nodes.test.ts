import { expect } from 'chai'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { coresOfHub, memoryNodes } from '../../src/hosts/memory-nodes.js'

describe('The memory nodes of a machine', () => {
  let sys: string
  beforeEach(() => {
    sys = mkdtempSync(join(tmpdir(), 'arbalest-sys-'))
  })
  afterEach(() => rmSync(sys, { recursive: true }))

  function write(files: Readonly<Record<string, string>>): void {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(dirname(join(sys, path)), { recursive: true })
      writeFileSync(join(sys, path), `${text}\n`)
    }
  }
  const node = (number: number, cores: string) => ({ [`devices/system/node/node${number}/cpulist`]: cores })
  const ALL = Array.from({ length: 16 }, (_, core) => core)

  it('have the cores that Linux lists and the process may use, and say where the network is', () => {
    write({ ...node(0, '0-3,8-11'), ...node(1, '4-7,12-15'), ...node(2, ''), 'devices/system/node/online': '0-2' })
    write({ 'class/net/eth0/device/numa_node': '1', 'class/net/lo/mtu': '65536', 'class/net/eth1/device/numa_node': '-1' })
    expect(memoryNodes([0, 1, 2, 4, 5], sys)).to.deep.equal([
      { node: 0, cores: [0, 1, 2], hasNetwork: false },
      { node: 1, cores: [4, 5], hasNetwork: true }
    ])
  })

  it('give a hub the cores of the one with the network, and further hubs those of the others', () => {
    write({ ...node(0, '0-3'), ...node(1, '4-7'), ...node(2, '8-11'), 'class/net/eth0/device/numa_node': '1' })
    const nodes = memoryNodes(ALL, sys)
    expect([0, 1, 2, 3].map((place) => coresOfHub(nodes, place)?.[0])).to.deep.equal([4, 0, 8, 4])
    expect(coresOfHub(nodes, 1)).to.deep.equal([0, 1, 2, 3])
  })

  it('leave a hub all cores where there is one of them, or none is known', () => {
    expect(coresOfHub(memoryNodes(ALL, sys), 0)).to.equal(undefined)
    write(node(0, '0-15'))
    expect(coresOfHub(memoryNodes(ALL, sys), 1)).to.equal(undefined)
    // A process that may use the cores of one node alone.
    write({ ...node(0, '0-7'), ...node(1, '8-15') })
    expect(coresOfHub(memoryNodes([8, 9], sys), 0)).to.equal(undefined)
  })
})
