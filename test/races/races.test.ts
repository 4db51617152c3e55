import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { ifSeldom } from '../support/seldom.js'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

function testRaces(args: readonly string[], env: NodeJS.ProcessEnv): { status: number | null; stderr: string } {
  const options = { env: { ...process.env, ...env }, encoding: 'utf8', timeout: 60_000 } as const
  return spawnSync(process.execPath, [`${ROOT}scripts/test-races.js`, ...args], options)
}

describe('npm run test:races', () => {
  // It takes minutes: an engine that has moved on is to be noticed without.
  for (const file of [
    'harness',
    'stress_groups',
    ...ifSeldom('stress_feeding', 'stress_arenas', 'stress_banks', 'stress_hosts', 'stress_lease', 'stress_transfers')
  ])
    it(`has a ${file}.cpp that fits the engine`, () => {
      const command = ['-std=c++20', '-fsyntax-only', `-I${ROOT}native/src`, `${ROOT}native/stress/${file}.cpp`]
      const { status, stderr } = spawnSync(process.env['CXX'] ?? 'g++', command, { encoding: 'utf8' })
      expect(status, stderr).to.equal(0)
    })

  it('says in a sentence what is missing where there is no g++', () => {
    const { status, stderr } = testRaces([], { PATH: '/nowhere' })
    expect(status).to.equal(1)
    expect(stderr).to.match(/^[^\n]*takes g\+\+ with ThreadSanitizer; install them: sudo apt-get install[^\n]*\n$/)
  })

  it('refuses harnesses and seconds that are none', () => {
    for (const [args, word] of [
      [['group'], 'group'],
      [['--seconds', 'x'], 'received x'],
      [['--hours', '1'], '--hours']
    ] as const) {
      const { status, stderr } = testRaces(args, {})
      expect(status).to.equal(1)
      expect(stderr).to.include(word)
    }
  })
})
