import { expect } from 'chai'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

/**
 * The rooms of src/ from the bottom up. A room imports from rooms below it alone, types included; `only` narrows that further.
 */
const ROOMS: readonly { readonly name: string; readonly only?: readonly string[] }[] = [
  { name: 'did-you-mean.ts', only: [] },
  { name: 'errors.ts', only: ['did-you-mean.ts'] },
  { name: 'similar-files.ts', only: ['did-you-mean.ts'] },
  { name: 'linked-file.ts', only: [] },
  { name: 'node.ts', only: [] },
  { name: 'own-module.ts', only: ['errors.ts', 'node.ts'] },
  { name: 'package-version.ts', only: ['errors.ts'] },
  { name: 'turns.ts', only: ['node.ts'] },
  { name: 'poll.ts', only: [] },
  { name: 'median.ts', only: [] },
  { name: 'runtime', only: ['errors.ts', 'node.ts', 'own-module.ts'] },
  { name: 'schema', only: ['did-you-mean.ts', 'errors.ts'] },
  { name: 'model' },
  { name: 'metrics', only: ['errors.ts', 'model'] },
  { name: 'compiler' },
  { name: 'engine' },
  { name: 'formats' },
  { name: 'data' },
  { name: 'rules' },
  { name: 'schedules' },
  { name: 'observe' },
  { name: 'options' },
  { name: 'checkpoints' },
  { name: 'protocols' },
  { name: 'dashboard', only: ['errors.ts', 'node.ts', 'engine', 'observe', 'protocols'] },
  { name: 'learner' },
  { name: 'actors' },
  { name: 'tuner' },
  { name: 'trained' },
  { name: 'hosts', only: ['errors.ts', 'poll.ts', 'median.ts', 'engine'] },
  { name: 'run' },
  { name: 'crossover' },
  { name: 'index.ts' },
  {
    name: 'cli',
    only: [
      'errors.ts',
      'similar-files.ts',
      'linked-file.ts',
      'node.ts',
      'schema',
      'engine',
      'options',
      'runtime',
      'hosts',
      'observe',
      'dashboard',
      'index.ts'
    ]
  }
]

/** The rooms of native/src, each with the rooms whose headers it includes. */
const NATIVE_ROOMS: Readonly<Record<string, readonly string[]>> = {
  core: [],
  data: ['core'],
  device: ['core', 'data'],
  cpu: ['core', 'data', 'device'],
  cuda: ['core', 'data', 'device'],
  replica: ['core', 'data', 'device'],
  transport: ['core', 'device'],
  sync: ['core', 'device', 'replica', 'transport'],
  binding: ['core', 'data', 'device', 'replica', 'transport', 'sync']
}

interface Import {
  readonly from: string
  readonly to: string
}

describe('The architecture', () => {
  const files = filesBelow(join(ROOT, 'src'), /\.ts$/)
  const imports = files.flatMap(importsOf)

  it('has only rooms with a rule', () => {
    const known = ROOMS.map((room) => room.name)
    expect([...new Set(files.map(roomOf))].filter((room) => !known.includes(room))).to.deep.equal([])
    expect(imports.length).to.be.above(files.length)
  })

  it('lets imports point down only, those of types too', () => {
    const height = new Map(ROOMS.map((room, i) => [room.name, i]))
    const wrong = imports.filter(({ from, to }) => {
      const [room, wanted] = [roomOf(from), roomOf(to)]
      const { only } = ROOMS[height.get(room)!]!
      return room !== wanted && (only ? !only.includes(wanted) : height.get(wanted)! > height.get(room)!)
    })
    expect([...new Set(wrong.map(({ from, to }) => `${name(from)} imports ${name(to)}`))].sort()).to.deep.equal([])
  })

  it('has no circles of imports, those of types included', () => {
    expect(
      circlesOf(imports)
        .map((circle) => circle.map(name).join(' '))
        .sort()
    ).to.deep.equal([])
  })

  it('finds a circle where there is one', () => {
    const [a, b, c] = ['a.ts', 'b.ts', 'c.ts'] as const
    expect(
      circlesOf([
        { from: a, to: b },
        { from: b, to: c },
        { from: c, to: b }
      ])
    ).to.deep.equal([[b, c]])
    expect(
      circlesOf([
        { from: a, to: b },
        { from: b, to: c }
      ])
    ).to.deep.equal([])
  })

  it('lets the thread of a learner start without the compiler, the operators and the file formats', () => {
    const loaded = new Set([join(ROOT, 'src/actors/learner.ts'), join(ROOT, 'src/learner/built-in-learner.ts')])
    for (const file of loaded) for (const { to } of loadedWith(file)) loaded.add(to)
    expect(loaded.size).to.be.above(10)
    expect([...loaded].map(name).filter((file) => /^src\/(compiler|model\/operators|formats|checkpoints)\//.test(file))).to.deep.equal([])
  })

  it('has one name for one thing: no two files export a class or type of the same name', () => {
    const names = files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(/^export (?:abstract )?(?:class|interface|type) (\w+)/gm)].map((match) => match[1]!)
    )
    const several = names.filter((each, i) => names.indexOf(each) !== i)
    expect([...new Set(several)].sort()).to.deep.equal([])
  })

  it('is described by a page that names files that exist', () => {
    const page = readFileSync(join(ROOT, 'docs/architecture.md'), 'utf8')
    const named = [...page.matchAll(/`((?:src|native|test)\/[\w./-]+)`/g)].map((match) => match[1]!)
    expect(named.length).to.be.above(20)
    expect(named.filter((path) => !existsSync(join(ROOT, path)))).to.deep.equal([])
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

    const includes = sources.flatMap((from) =>
      [...readFileSync(from, 'utf8').matchAll(/^#include "([^"]+)"/gm)].map((match) => ({ from, path: match[1]! }))
    )

    it('has only rooms with a rule, and nothing beside them', () => {
      expect([...new Set(sources.map(nativeRoomOf))].sort()).to.deep.equal(Object.keys(NATIVE_ROOMS).sort())
    })

    it('names every header by its path from native/src', () => {
      const known = new Set(sources.map(nativePath))
      const generated = ['interface_hash.h', 'link_interface_hash.h']
      expect(
        includes.filter(({ path }) => !generated.includes(path) && !known.has(path)).map(({ from, path }) => `${name(from)}: ${path}`)
      ).to.deep.equal([])
    })

    it('lets includes point down only', () => {
      const wrong = includes.filter(({ from, path }) => {
        const [room, wanted] = [nativeRoomOf(from), path.split('/')[0]!]
        return path.includes('/') && room !== wanted && !NATIVE_ROOMS[room]!.includes(wanted)
      })
      expect(wrong.map(({ from, path }) => `${nativePath(from)} includes ${path}`).sort()).to.deep.equal([])
    })

    it('has no circles of includes', () => {
      expect(circlesOf(includes.map(({ from, path }) => ({ from: nativePath(from), to: path })))).to.deep.equal([])
    })

    it('lets only the binding know of JavaScript', () => {
      const users = including(/napi\.h|node_api\.h|js_native_api/).map(name)
      expect(users).to.not.deep.equal([])
      expect(users.filter((file) => !file.startsWith('native/src/binding'))).to.deep.equal([])
    })

    it('lets only the library that is compiled by an MPI compiler know of MPI', () => {
      const users = including(/mpi(?:-ext)?\.h/).map(name)
      expect(users).to.not.deep.equal([])
      expect(users.filter((file) => !file.startsWith('native/src/transport/mpi/'))).to.deep.equal([])
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

function nativePath(file: string): string {
  return relative(join(ROOT, 'native/src'), file)
}

function nativeRoomOf(file: string): string {
  return nativePath(file).split('/')[0]!
}

function filesBelow(folder: string, pattern: RegExp): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => pattern.test(file))
    .sort()
    .map((file) => join(folder, file))
}

/** Files that can be reached from each other, circle by circle: the strongly connected components (Tarjan, 1972) of more than one file. */
function circlesOf(imports: readonly Import[]): string[][] {
  const next = new Map<string, string[]>()
  for (const { from, to } of imports) next.set(from, [...(next.get(from) ?? []), to])
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const open: string[] = []
  const circles: string[][] = []
  const visit = (file: string): number => {
    order.set(file, order.size)
    lowest.set(file, order.get(file)!)
    open.push(file)
    for (const each of next.get(file) ?? []) {
      if (!order.has(each)) lowest.set(file, Math.min(lowest.get(file)!, visit(each)))
      else if (open.includes(each)) lowest.set(file, Math.min(lowest.get(file)!, order.get(each)!))
    }
    if (lowest.get(file) === order.get(file)) {
      const circle = open.splice(open.indexOf(file)).sort()
      if (circle.length > 1) circles.push(circle)
    }
    return lowest.get(file)!
  }
  for (const file of next.keys()) if (!order.has(file)) visit(file)
  return circles
}

/** The files that are loaded with a file: those of its static imports of values. */
function loadedWith(from: string): Import[] {
  const statements = readFileSync(from, 'utf8').matchAll(/^(?:import|export)\s(?!type\b)[^'"`;]*?from\s+'(\.[^']+)'/gm)
  return [...statements].map((match) => ({ from, to: resolve(dirname(from), match[1]!.replace(/\.js$/, '.ts')) }))
}

/** Of files of ours: `import`, `export ... from`, `import()` and module URLs for workers. */
function importsOf(from: string): Import[] {
  const text = readFileSync(from, 'utf8')
  const statements = text.matchAll(/^\s*(?:import|export)\s[^'"`;]*?from\s+'(\.[^']+)'/gm)
  const calls = text.matchAll(/\bimport\(\s*'(\.[^']+)'|new URL\(\s*'(\.[^']+\.js)',\s*import\.meta\.url/g)
  const found = [...[...statements].map((match) => match[1]!), ...[...calls].map((match) => (match[1] ?? match[2])!)]
  return found.map((path) => ({ from, to: resolve(dirname(from), path.replace(/\.js$/, '.ts')) }))
}
