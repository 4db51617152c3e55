import { expect } from 'chai'
import { hasColours, hasCursor } from '../../src/cli/terminal.js'
import { run } from './support/arbalest.js'

const TERMINAL = { isTTY: true }
const FILE = {}

describe('Colours and cursor moves', () => {
  it('go to a terminal alone, and not to one that is dumb', () => {
    expect([hasColours(TERMINAL, {}), hasCursor(TERMINAL, {})]).to.deep.equal([true, true])
    expect([hasColours(TERMINAL, { TERM: 'dumb' }), hasCursor(TERMINAL, { TERM: 'dumb' })]).to.deep.equal([false, false])
    for (const env of [{}, { CI: 'true' }]) expect([hasColours(FILE, env), hasCursor(FILE, env)]).to.deep.equal([false, false])
  })

  it('do not go to the terminal that Open MPI gives a process, or to `arbalest launch`', () => {
    for (const env of [{ OMPI_COMM_WORLD_RANK: '0', OMPI_COMM_WORLD_SIZE: '1' }, { ARBALEST_LAUNCHED: '1' }])
      expect([hasColours(TERMINAL, env), hasCursor(TERMINAL, env)]).to.deep.equal([false, false])
  })

  it('NO_COLOR switches colours off, FORCE_COLOR on, and neither moves the cursor', () => {
    expect(hasColours(TERMINAL, { NO_COLOR: '1' })).to.equal(false)
    expect(hasColours(TERMINAL, { NO_COLOR: '' })).to.equal(true)
    expect(hasColours(TERMINAL, { FORCE_COLOR: '0' })).to.equal(false)
    expect(hasColours(FILE, { FORCE_COLOR: '1' })).to.equal(true)
    expect(hasColours(FILE, { FORCE_COLOR: '1', NO_COLOR: '1' })).to.equal(false)
    expect(hasCursor(TERMINAL, { NO_COLOR: '1' })).to.equal(true)
    expect(hasCursor(FILE, { FORCE_COLOR: '1' })).to.equal(false)
  })

  it('are in no file of a continuous integration', async () => {
    const { stdout, stderr } = await run(['doctor'], { env: { CI: 'true', NO_COLOR: '' } })
    expect(stdout).to.include('processor')
    expect(stdout + stderr).to.not.include('\x1b')
  })
})
