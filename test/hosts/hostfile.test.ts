import { expect } from 'chai'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { placed, racksOf, readHostfile, slotsOf } from '../../src/hosts/hostfile.js'
import { refused } from '../support/codes.js'

describe('A hostfile', () => {
  let folder: string
  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'arbalest-hosts-'))
  })
  after(() => rmSync(folder, { recursive: true }))

  function file(...lines: readonly string[]): string {
    const path = join(folder, 'hosts')
    writeFileSync(path, lines.join('\n'))
    return path
  }

  it('has a host a line, in the form of Open MPI or MPICH, with comments', () => {
    const path = file('# the cluster', 'node1', 'node2 slots=2', 'node3:4   # the large one', '10.0.0.7 slots = 3 max_slots=8', '')
    expect(readHostfile(path)).to.deep.equal([
      { name: 'node1', slots: 1 },
      { name: 'node2', slots: 2 },
      { name: 'node3', slots: 4 },
      { name: '10.0.0.7', slots: 3 }
    ])
  })

  it('names racks, whose ranks follow from the places of the hosts', () => {
    const hosts = readHostfile(file('node1 slots=2 rack=a', 'node2 rack=b', 'node3:2 rack = a', 'node4 slots=3 max_slots=4 rack=c'))
    expect(hosts[0]).to.deep.equal({ name: 'node1', slots: 2, rack: 'a' })
    expect(racksOf(hosts)).to.equal('0,1,3,4;2;5,6,7')
    expect(racksOf(placed(4, hosts))).to.equal('0,2;1;3')
    expect(racksOf(readHostfile(file('node1', 'node2')))).to.equal(undefined)
  })

  it('refuses a host without a rack beside one with a rack, and two racks of one host', async () => {
    await refused('INVALID_OPTION', () => readHostfile(file('node1 rack=a', 'node2')), 'node2 has no rack')
    await refused('INVALID_OPTION', () => readHostfile(file('node1 rack=a', 'node1 rack=b')), 'line 2', 'another rack')
    await refused('INVALID_OPTION', () => readHostfile(file('node1 rack=')), 'line 1')
  })

  it('takes a host that comes again for more processes, as MPI does', () => {
    expect(readHostfile(file('a', 'b', 'a'))).to.deep.equal([
      { name: 'a', slots: 2 },
      { name: 'b', slots: 1 }
    ])
  })

  for (const [name, lines] of [
    ['is empty', []],
    ['has comments alone', ['# node1', '  ']]
  ] as const)
    it(`that ${name} is refused by its path and the form of a line`, () =>
      refused('INVALID_OPTION', () => readHostfile(file(...lines)), join(folder, 'hosts'), 'names no host', 'slots=2'))

  it('with a line of another form is refused by the number of the line', async () => {
    for (const line of ['node1 cores=2', 'node1 slots=0', 'node1 node2', '-n 4', 'node1:x', 'node1:', 'node1 slots=', '-n'])
      await refused('INVALID_OPTION', () => readHostfile(file('node0', line)), 'line 2', JSON.stringify(line), 'slots=2')
  })

  it('with more slots than processes can be started is refused', async () => {
    for (const line of ['node1 slots=99999999999999999999 rack=b', 'node0:65536 rack=a'])
      await refused('INVALID_OPTION', () => readHostfile(file('node0 rack=a', line)), 'line 2', 'at most 65536')
  })

  it('that is missing is refused with the reason', () =>
    refused('INVALID_OPTION', () => readHostfile(join(folder, 'none')), join(folder, 'none'), 'cannot be read'))
})

describe('Processes over hosts', () => {
  const hosts = [
    { name: 'a', slots: 1 },
    { name: 'b', slots: 4 },
    { name: 'c', slots: 2 }
  ]

  it('are spread as evenly as the slots allow', () => {
    expect(placed(5, hosts).map(({ slots }) => slots)).to.deep.equal([1, 2, 2])
    expect(placed(7, hosts)).to.deep.equal(hosts)
  })

  it('leave out hosts that take none', () => {
    expect(placed(2, hosts)).to.deep.equal([
      { name: 'a', slots: 1 },
      { name: 'b', slots: 1 }
    ])
  })

  it('are refused where there are too few slots, with those that there are', () =>
    refused('INVALID_OPTION', () => placed(8, hosts), 'received 8', 'at most 7', 'b takes 4'))

  it('all have a place, and no host has more than its slots', () => {
    for (let processes = 1; processes <= slotsOf(hosts); processes++) {
      const places = placed(processes, hosts)
      expect(slotsOf(places)).to.equal(processes)
      for (const { name, slots } of places) expect(slots).to.be.within(1, hosts.find((host) => host.name === name)!.slots)
    }
  })
})
