import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

describe('The declarations of the package', () => {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { exports: Record<string, { types?: string }> }
  const entries = Object.values(exports).flatMap(({ types }) => (types === undefined ? [] : join(ROOT, types.replace('.d.ts', '.js'))))

  /** What the compiler says of a user's program; an empty text if nothing. */
  function toldOf(program: string): string {
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-'))
    try {
      const file = join(folder, 'user.mts')
      writeFileSync(file, program)
      const strict = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--module', 'nodenext', '--lib', 'es2023,esnext.disposable']
      const types = ['--typeRoots', join(ROOT, 'node_modules/@types'), '--types', 'node']
      const { status, stdout } = spawnSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), ...strict, ...types, file], {
        cwd: folder,
        encoding: 'utf8'
      })
      return status === 0 ? '' : stdout || 'the compiler did not start'
    } finally {
      rmSync(folder, { recursive: true })
    }
  }

  it('need those of Node.js alone, and none of a browser', () => {
    expect(toldOf(entries.map((entry) => `import ${JSON.stringify(entry)}\n`).join(''))).to.equal('')
  })

  it('have names for options, by which the compiler tells a mistyped one', () => {
    const told = toldOf(`import { train } from ${JSON.stringify(entries[0])}
      train({ model: 'mlp', epochs: 3 })
      train({ model: 'mlp', until: { epoch: 3 } })`)
    expect(told).to.include("'epochs' does not exist in type 'TrainOptions'").and.include("'epoch' does not exist in type 'UntilOptions'")
  })
})
