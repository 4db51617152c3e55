import { expect } from 'chai'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/**
 * Which rooms of src/ each room may import from, besides itself and errors.ts. Arrows point down only; what stands in brackets may be
 * imported for its types alone.
 */
const MAY_IMPORT: Readonly<Record<string, readonly string[]>> = {
  'errors.ts': [],
  'own-module.ts': [],
  model: ['own-module.ts'],
  compiler: ['model'],
  engine: ['[compiler]', '[model]'],
  data: ['[engine]', 'model'],
  formats: ['model'],
  checkpoints: ['formats', 'model', '[compiler]', '[engine]'],
  runtime: [],
  actors: ['own-module.ts', 'checkpoints', 'runtime', 'compiler', 'engine', 'data', 'formats', 'model', '[training]'],
  training: ['actors', 'checkpoints', 'runtime', 'compiler', 'engine', 'data', 'formats', 'model'],
  'index.ts': ['training', 'checkpoints', 'actors', 'data', 'engine', 'formats', 'model', '[compiler]'],
  cli: ['index.ts', 'engine', 'runtime']
}

interface Import {
  readonly from: string
  readonly to: string
  readonly typesOnly: boolean
}

describe('The architecture', () => {
  const files = filesBelow(join(ROOT, 'src'), /\.ts$/)
  const imports = files.flatMap(importsOf)

  it('has only rooms with a rule', () => {
    expect([...new Set(files.map(roomOf))].filter((room) => !(room in MAY_IMPORT))).to.deep.equal([])
    expect(imports.length).to.be.above(files.length)
  })

  it('lets imports point down only', () => {
    const wrong = imports.filter(({ from, to, typesOnly }) => {
      const [room, wanted] = [roomOf(from), roomOf(to)]
      const allowed = MAY_IMPORT[room] ?? []
      return room !== wanted && wanted !== 'errors.ts' && !allowed.includes(wanted) && !(typesOnly && allowed.includes(`[${wanted}]`))
    })
    expect(wrong.map(({ from, to }) => `${name(from)} imports ${name(to)}`)).to.deep.equal([])
  })

  it('has no rings of imports', () => {
    const next = new Map<string, string[]>()
    for (const { from, to, typesOnly } of imports) if (!typesOnly) next.set(from, [...(next.get(from) ?? []), to])
    const rings: string[] = []
    const done = new Set<string>()
    const visit = (file: string, path: readonly string[]): void => {
      if (path.includes(file)) rings.push([...path.slice(path.indexOf(file)), file].map(name).join(' -> '))
      if (done.has(file) || path.includes(file)) return
      for (const each of next.get(file) ?? []) visit(each, [...path, file])
      done.add(file)
    }
    for (const file of files) visit(file, [])
    expect(rings).to.deep.equal([])
  })

  it('keeps the native library behind one file', () => {
    const loaders = files.filter((file) => /\.node['"]/.test(readFileSync(file, 'utf8')))
    expect(loaders.map(name)).to.deep.equal(['src/engine/addon.ts'])
  })

  it('keeps threads behind the runtime', () => {
    const users = files.filter((file) => /from 'node:worker_threads'/.test(readFileSync(file, 'utf8')) && roomOf(file) !== 'runtime')
    expect(users.map(name)).to.deep.equal([])
  })

  describe('in C++', () => {
    const sources = filesBelow(join(ROOT, 'native/src'), /\.(h|cpp|inc|cu)$/)
    const including = (what: RegExp) =>
      sources.filter((file) => new RegExp(`^#include [<"](?:${what.source})`, 'm').test(readFileSync(file, 'utf8')))

    it('lets only the binding know of JavaScript', () => {
      const users = including(/napi\.h|node_api\.h|js_native_api/).map(name)
      expect(users).to.not.deep.equal([])
      expect(users.filter((file) => !file.startsWith('native/src/binding'))).to.deep.equal([])
    })

    it('lets only the CPU backend know of oneDNN, and its reference not even that', () => {
      const users = including(/(?:oneapi\/dnnl\/)?dnnl/).map(name)
      expect(users).to.not.deep.equal([])
      expect(users.filter((file) => !file.startsWith('native/src/cpu/') || file.startsWith('native/src/cpu/reference/'))).to.deep.equal([])
    })
  })
})

function name(file: string): string {
  return relative(ROOT, file)
}

function roomOf(file: string): string {
  return relative(join(ROOT, 'src'), file).split('/')[0]!
}

function filesBelow(folder: string, pattern: RegExp): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => pattern.test(file))
    .sort()
    .map((file) => join(folder, file))
}

/** Of files of ours: `import`, `export ... from`, `import()` and module URLs for workers. */
function importsOf(from: string): Import[] {
  const text = readFileSync(from, 'utf8')
  const statements = text.matchAll(/^\s*(import|export)\s(type\s)?[^'"`;]*?from\s+'(\.[^']+)'/gm)
  const calls = text.matchAll(/\bimport\(\s*'(\.[^']+)'|new URL\(\s*'(\.[^']+\.js)',\s*import\.meta\.url/g)
  const found = [
    ...[...statements].map((match) => ({ path: match[3]!, typesOnly: match[2] !== undefined })),
    ...[...calls].map((match) => ({ path: (match[1] ?? match[2])!, typesOnly: false }))
  ]
  return found.map(({ path, typesOnly }) => ({ from, to: resolve(dirname(from), path.replace(/\.js$/, '.ts')), typesOnly }))
}
