import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

describe('The declarations of the package', () => {
  it('need those of Node.js alone, and none of a browser', () => {
    const folder = mkdtempSync(join(tmpdir(), 'arbalest-'))
    try {
      const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { exports: Record<string, { types?: string }> }
      const entries = Object.values(exports).flatMap(({ types }) => (types === undefined ? [] : join(ROOT, types)))
      const file = join(folder, 'user.mts')
      writeFileSync(file, entries.map((entry) => `import ${JSON.stringify(entry.replace('.d.ts', '.js'))}\n`).join(''))
      const strict = ['--noEmit', '--strict', '--skipLibCheck', 'false', '--module', 'nodenext', '--lib', 'es2023,esnext.disposable']
      const types = ['--typeRoots', join(ROOT, 'node_modules/@types'), '--types', 'node']
      execFileSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), ...strict, ...types, file], {
        cwd: folder,
        encoding: 'utf8'
      })
    } catch (error) {
      throw new Error((error as { stdout?: string }).stdout ?? 'the compiler did not start', { cause: error })
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
})
