import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'

const SCRIPT = fileURLToPath(new URL('../../../../scripts/fuzz-native.js', import.meta.url))

function fuzzNative(args: readonly string[], env: NodeJS.ProcessEnv): { status: number | null; stderr: string } {
  return spawnSync(process.execPath, [SCRIPT, ...args], { env: { ...process.env, ...env }, encoding: 'utf8', timeout: 60_000 })
}

const NATIVE = fileURLToPath(new URL('../../../../native/', import.meta.url))

describe('npm run fuzz:native', () => {
  // They are built where there is clang, which few machines have: an engine that has moved on is to be noticed on all.
  for (const harness of ['program', 'snapshot', 'vectors'])
    it(`has a harness ${harness} that fits the engine`, () => {
      const folders = [`-I${NATIVE}src`, `-I${NATIVE}src/cpu`]
      const command = ['-std=c++20', '-fsyntax-only', ...folders, `${NATIVE}fuzz/fuzz_${harness}.cpp`]
      const { status, stderr } = spawnSync(process.env['CXX'] ?? 'g++', command, { encoding: 'utf8' })
      expect(status, stderr).to.equal(0)
    })

  it('says in a sentence what is missing where there is no clang', () => {
    const { status, stderr } = fuzzNative([], { PATH: '/nowhere', CXX: '' })
    expect(status).to.equal(1)
    expect(stderr).to.match(/^[^\n]*takes clang with its sanitizers; install them: sudo apt-get install[^\n]*\n$/)
  })

  it('refuses harnesses and seconds that are none', () => {
    for (const [args, word] of [
      [['programs'], 'programs'],
      [['--seconds', 'x'], 'received x'],
      [['--hours', '1'], '--hours']
    ] as const) {
      const { status, stderr } = fuzzNative(args, {})
      expect(status).to.equal(1)
      expect(stderr).to.include(word)
    }
  })
})
