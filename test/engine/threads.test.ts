import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { inOwnProcess } from '../support/own-process.js'
import { skip } from '../support/skip.js'
import type { refusalOfLimit, refusalOfStream, refusalOfTeam } from './support/thread-teams.js'

const TEAMS = new URL('./support/thread-teams.js', import.meta.url)

describe('The threads of the engine', function () {
  this.timeout(60_000)

  it('are refused where the system allows no more: OpenMP would end the process', function () {
    if (spawnSync('prlimit', ['--version']).status !== 0) skip(this, 'prlimit is not installed')
    const refusal = inOwnProcess(TEAMS, 'refusalOfTeam') as ReturnType<typeof refusalOfTeam>
    expect(refusal?.code).to.equal('LIMIT_REACHED')
    expect(refusal?.message).to.match(/^threads: received 2 for each learner; the system allows no more: raise the limit \(ulimit -u/)
  })

  it('are refused where a stream has its own, too', function () {
    if (spawnSync('prlimit', ['--version']).status !== 0) skip(this, 'prlimit is not installed')
    const refusal = inOwnProcess(TEAMS, 'refusalOfStream') as ReturnType<typeof refusalOfStream>
    expect(refusal?.code).to.equal('LIMIT_REACHED')
    expect(refusal?.message).to.match(/^threads: the system allows no more: raise the limit \(ulimit -u/)
  })

  it('are refused where OpenMP is limited to fewer', () => {
    const refusal = inOwnProcess(TEAMS, 'refusalOfLimit') as ReturnType<typeof refusalOfLimit>
    expect(refusal?.code).to.equal('LIMIT_REACHED')
    expect(refusal?.message).to.match(/^threads: received 2 for each learner; the variable OMP_THREAD_LIMIT allows 1: raise it/)
  })

  // OMP_DYNAMIC depends on how busy the machine is: the other always finds it.
  for (const [variable, value] of [
    ['OMP_DYNAMIC', 'true'],
    ['OMP_MAX_ACTIVE_LEVELS', '0']
  ] as const)
    it(`are as many as asked for, whatever ${variable} says`, () => {
      expect(inOwnProcess(TEAMS, 'changedBySharing', variable, value)).to.equal(0)
    })

  it('take no signals: the handler of one would write its frame into the memory of a matrix product', () => {
    expect(inOwnProcess(TEAMS, 'takersOfSignals')).to.deep.equal({ given: 4, takers: [0, 0] })
  })

  it('that compute a pass are only those that a thread has been given', () => {
    expect(inOwnProcess(TEAMS, 'startedByPass')).to.equal(0)
  })
})
