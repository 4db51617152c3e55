import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const README = readFileSync(join(ROOT, 'README.md'), 'utf8')

describe('The README', () => {
  it('has an example of ten lines that compiles and learns', () => {
    const example = /```ts\n(.*?)```/s.exec(README)?.[1] ?? ''
    expect(example.split('\n').filter((line) => line.trim() !== '')).to.have.length.within(8, 12)

    // Inside the package, where its own name leads to what is built.
    const folder = join(ROOT, 'dist/readme')
    mkdirSync(folder, { recursive: true })
    try {
      writeFileSync(join(folder, 'example.ts'), example)
      writeFileSync(
        join(folder, 'tsconfig.json'),
        JSON.stringify({
          extends: join(ROOT, 'tsconfig.json'),
          compilerOptions: { rootDir: '.', outDir: '.' },
          files: ['example.ts'],
          include: []
        })
      )
      run(join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', folder)
      const output = run(join(folder, 'example.js'))
      const accuracy = Number(/testAccuracy: ([\d.]+)/.exec(output)?.[1])
      expect(accuracy, output).to.be.above(0.7)
      expect(output)
        .to.match(/weightsSha256: '[0-9a-f]{64}'/)
        .and.match(/Float32Array\(20\)/)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  it('leads to files that are there', () => {
    for (const document of ['README.md', 'CONTRIBUTING.md', 'CHANGELOG.md', 'docs/architecture.md']) {
      const text = readFileSync(join(ROOT, document), 'utf8')
      for (const [, target] of text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)) {
        expect(existsSync(join(ROOT, dirname(document), target!)), `${document}: ${target}`).to.equal(true)
      }
    }
  })

  it('names only commands that package.json has', () => {
    const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { scripts: Record<string, string> }
    for (const document of ['README.md', 'CONTRIBUTING.md']) {
      for (const [, name] of readFileSync(join(ROOT, document), 'utf8').matchAll(/npm run ([\w:-]+)/g)) {
        expect(scripts, `${document}: npm run ${name}`).to.have.property(name!)
      }
    }
  })
})

function run(script: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, ...args], { cwd: ROOT, encoding: 'utf8' })
  expect(status, stdout + stderr).to.equal(0)
  return stdout
}
