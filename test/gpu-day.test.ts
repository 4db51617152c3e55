import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { skip } from './support/skip.js'

const SCRIPTS = fileURLToPath(new URL('../../scripts', import.meta.url))
/** What the script calls, without Node.js, a GPU's tools and xz. */
const TOOLS = [
  'bash',
  'cat',
  'chmod',
  'date',
  'dirname',
  'du',
  'env',
  'gzip',
  'mkdir',
  'mv',
  'rm',
  'sha256sum',
  'sleep',
  'tail',
  'tar',
  'tee',
  'timeout',
  'touch'
]
/** An archive that `tar` cannot unpack where there is no xz. */
const BUNDLE = `import io, sys, tarfile
with tarfile.open(sys.argv[1], 'w:xz') as bundle:
    for name in ['dist/src/index.js', 'native/build/Release/arbalest.node']:
        bundle.addfile(tarfile.TarInfo(name), io.BytesIO())`

describe('The day with a GPU', function () {
  this.timeout(60_000)
  let folder: string
  let tools: readonly (readonly [tool: string, path: string])[]

  before(() => {
    tools = [...TOOLS, 'python3'].map((tool) => [tool, pathOf(tool)])
  })
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'arbalest gpu day '))
    for (const name of ['scripts/cuda', 'tools', '.gpu', 'native/build-cuda/Release', 'dist/src', 'native/build/Release'])
      mkdirSync(join(folder, name), { recursive: true })
    for (const name of ['gpu-day.sh', 'cuda/kernel-times.py', 'cuda/target.py'])
      copyFileSync(join(SCRIPTS, name), join(folder, 'scripts', name))
    for (const [tool, path] of tools) symlinkSync(path, join(folder, 'tools', tool))
    for (const file of ['dist/src/index.js', 'native/build/Release/arbalest.node']) writeFileSync(join(folder, file), '')
    for (const tool of ['nvidia-smi', 'nvcc', 'ncu']) program(join(folder, 'tools', tool), 'echo "ran $*"')
    // `torch` is imported to tell its version.
    mkdirSync(join(folder, 'torch/torch'), { recursive: true })
    writeFileSync(
      join(folder, 'torch/torch/__init__.py'),
      'from types import SimpleNamespace as N\n__version__, version, backends = "2", N(cuda="13"), N(cudnn=N(version=lambda: 9))\n'
    )
    node('')
    probe(24.5)
  })
  afterEach(() => rmSync(folder, { recursive: true }))

  it('leaves a long step for the next turn, and does what still fits', () => {
    const { status, stdout } = day('--within', '100')
    expect(status, stdout).to.equal(3)
    // The first one takes what there is.
    expect(stdout).to.match(/^operators: done/m)
    expect(stdout).to.match(/^probe-32: done/m)
    expect(stdout).not.to.match(/^curves:/m)
    expect(stdout).to.match(/^left: curves .*; the same command/m)
  })

  it('begins a bench in what is left, for it goes on in the next turn', () => {
    const { stdout } = day('--within', '110')
    expect(stdout).not.to.match(/^curves:/m)
    expect(stdout).to.match(/^bench-first: done/m)
  })

  it('keeps what a step has found while it runs', () => {
    const script = join(folder, 'scripts/gpu-day.sh')
    writeFileSync(script, readFileSync(script, 'utf8').replace('often=60', 'often=0.2'))
    const archive = join(folder, 'day.tar.gz')
    node(`if [[ $2 != gpu ]]; then exit; fi\necho found >"$results/found"\nsleep 1\ntar -tzf ${JSON.stringify(archive)}`)
    expect(day('--only', 'bench-first', '--archive', archive).stdout).to.match(/^bench-first: done/m)
    expect(output('bench-first')).to.match(/^\.\/found$/m)
  })

  it('goes on where the turn before has ended, and adds to its outputs', () => {
    day('--within', '100')
    const { stdout } = day()
    expect(stdout).to.match(/^operators: done before$/m)
    expect(stdout).to.match(/^curves: done in/m)
    expect(output('toolkit').match(/^== /gm)).to.have.length(2)
    day('--only', 'operators', '--force')
    expect(output('operators').match(/^ran scripts\/test-gpu\.js operators$/gm)).to.have.length(2)
  })

  it('adds up the time of each kernel', () => {
    const rows = [
      '==PROF== Connected to process 1',
      '"ID","Kernel Name","Metric Name","Metric Unit","Metric Value"',
      '"0","void each<Add<float, 4>>(long)","gpu__time_duration.sum","ns","1,500"',
      '"1","void each<Add<float, 4>>(long)","gpu__time_duration.sum","ns","2,500"',
      '"2","other","gpu__time_duration.sum","ns","6000"'
    ]
    writeFileSync(join(folder, 'rows'), rows.join('\n'))
    program(join(folder, 'tools/ncu'), `cat rows`)
    day('--only', 'kernels')
    expect(output('kernels')).to.match(
      /^ +1 +6\.0 +6\.00 +60\.0% {2}other\n +2 +4\.0 +2\.00 +40\.0% {2}void each<Add<float, 4>>\(long\)\n +3 +10\.0$/m
    )
    expect(readFileSync(join(folder, 'results/gpu/kernels.csv'), 'utf8')).to.include('"6000"')
  })

  it('says what ncu says where it measures nothing', () => {
    program(join(folder, 'tools/ncu'), 'echo "==ERROR== ERR_NVGPUCTRPERM"')
    expect(day('--only', 'kernels').stdout).to.match(
      /^kernels: FAILED \(1\)(.*\n)+==ERROR== ERR_NVGPUCTRPERM\nkernel-times: no launch was measured$/m
    )
    rmSync(join(folder, 'tools/ncu'))
    expect(day('--only', 'kernels', '--force').stdout).to.match(/^kernels: left out, there is no ncu on this machine$/m)
    expect(existsSync(join(folder, 'results/gpu/kernels.done'))).to.equal(false)
  })

  it('trains on CIFAR-10 once all of it has come, in several turns', function () {
    const [first, ...others] = [1, 2, 3, 4, 5].map((part) => `data_batch_${part}`).concat('test_batch')
    bring(this, first!)
    expect(day('--only', 'accuracy').stdout).to.match(/^accuracy: left out, there is no whole CIFAR-10 in .*\/data\/cifar-10$/m)
    rmSync(join(folder, '.gpu/cifar-10'), { recursive: true })
    for (const name of others) bring(this, name)
    const { status, stdout } = day('--only', 'data')
    expect(status, stdout).to.equal(0)
    expect(stdout).not.to.include('toolkit')
    expect(readFileSync(join(folder, 'data/cifar-10/test_batch.bin'), 'utf8')).to.equal('test_batch')
    node(`echo '{"event":"evaluated","testAccuracy":0.5}'; echo '{"event":"finished","testAccuracy":0.884}'`)
    expect(day('--only', 'accuracy').stdout).to.match(/^accuracy: done/m)
    expect(output('accuracy')).to.match(/^target: testAccuracy is 0.884, at least 0.88 wanted$/m)
    for (const [told, words] of [
      [
        `echo '{"event":"evaluated","testAccuracy":0.91}'; echo '{"event":"finished","testAccuracy":0.879}'`,
        'is 0.879, at least 0.88 wanted: MISSED'
      ],
      ['', 'was not measured'],
      [`echo '{"testAccuracy":0.91}'; exit 3`, 'is 0.91, at least 0.88 wanted']
    ] as const) {
      node(told)
      const said = day('--only', 'accuracy', '--force').stdout
      expect(said)
        .to.match(/^accuracy: FAILED \([13]\)/m)
        .and.include(`target: testAccuracy ${words}`)
    }
    expect(output('accuracy')).to.match(/^ran bin\/arbalest\.js train .* --data-dir .*\/data\/cifar-10 /m)
  })

  it('trains to the record once CIFAR-10 has come, and goes on where it was cut off', function () {
    expect(day('--only', 'record').stdout).to.match(/^record: left out, there is no whole CIFAR-10 in .*\/data\/cifar-10$/m)
    for (const name of [1, 2, 3, 4, 5].map((part) => `data_batch_${part}`).concat('test_batch')) bring(this, name)
    node('[[ $2 != record ]] || { echo "data in $ARBALEST_DATA"; exit 75; }')
    expect(day('--only', 'record').stdout).to.match(/^record: not whole after \d+s, to be gone on with$/m)
    node('')
    expect(day('--only', 'record').stdout).to.match(/^record: done in/m)
    const command = `ran bench/dist/main.js record cuda n20 --json --out ${join(folder, 'results/gpu')} --budget 8.66`
    expect(output('record').split(command)).to.have.length(3)
    expect(output('record')).to.include(`data in ${join(folder, 'data')}\n`)
  })

  it('measures kernels once their plans have been searched for, as the machine has them', () => {
    program(join(folder, 'tools/ncu'), `echo "ncu $*"; cat rows`)
    writeFileSync(join(folder, 'rows'), '')
    day('--only', 'kernels-k8')
    expect(output('kernels-k8')).to.match(
      /^ran bench\/dist\/learners-child\.js resnet32 16 8 bf16 cuda true\n(.*\n)*ncu --clock-control none --cache-control none /m
    )
  })

  it('runs again what was done of another commit', () => {
    const of = (commit: string) => writeFileSync(join(folder, '.gpu/commit'), `${commit}\n`)
    of('abc')
    day('--only', 'curves')
    node('[[ $1 != scripts/test-gpu.js ]] || exit 3')
    expect(day('--only', 'curves').stdout).to.match(/^curves: done before$/m)
    of('def')
    expect(day('--only', 'curves').stdout).to.match(/^curves: FAILED \(3\)/m)
    expect(day('--only', 'curves').stdout).to.match(/^curves: FAILED before/m)
    of('ghi')
    node('')
    expect(day('--only', 'curves').stdout).to.match(/^curves: done in/m)
  })

  it('runs again what was done on another kind of GPU', () => {
    day('--only', 'curves')
    expect(day('--only', 'curves').stdout).to.match(/^curves: done before$/m)
    program(join(folder, 'tools/nvidia-smi'), 'echo "another GPU"')
    expect(day('--only', 'curves').stdout).to.match(/^curves: done in/m)
  })

  it('leaves nothing running of a step that is over, and goes on with a bench that hangs', () => {
    node(`if [[ $2 != gpu ]]; then exit; fi\nsleep 301 & echo "left $!"\nwait`)
    const { stdout } = day('--within', '40', '--only', 'bench-first')
    expect(stdout).to.match(/^bench-first: not whole after \d+s, to be gone on with$/m)
    node(`if [[ $1 != scripts/test-gpu.js ]]; then exit; fi\nsleep 302 & echo "left $!"`)
    expect(day('--only', 'curves').stdout).to.match(/^curves: done/m)
    for (const step of ['bench-first', 'curves']) {
      const left = Number(/^left (\d+)$/m.exec(output(step))![1])
      const state = existsSync(`/proc/${left}/stat`) ? readFileSync(`/proc/${left}/stat`, 'utf8').split(' ')[2] : 'gone'
      // Nobody may be there to take note of its end.
      expect(state).to.be.oneOf(['gone', 'Z'])
    }
  })

  it('takes no machine on which the backend cannot be used', () => {
    expect(day('--only', 'curves').stdout).to.match(/^machine: done/m)
    node('exit 1', 'absent')
    const { stdout } = day('--only', 'operators')
    expect(stdout).to.match(/^machine: FAILED \(1\)(.*\n)+machine: backend cuda cannot be used here/m)
    // The machine is what was missing.
    expect(stdout).not.to.match(/^operators:/m)
    expect(existsSync(join(folder, 'results/gpu/operators.failed'))).to.equal(false)
    node('')
    expect(day('--only', 'operators').stdout).to.match(/^operators: done/m)
  })

  it('says whether eight replicas are averaged in the time that is wanted', () => {
    expect(day('--only', 'average').stdout).to.match(/^average: done/m)
    probe(25.5)
    expect(day('--only', 'average', '--force').stdout).to.match(
      /^average: FAILED \(1\)(.*\n)+target: averageMicroseconds is 25.5, .*: MISSED$/m
    )
  })

  it('gives every comparison its time and the folder in which it goes on', () => {
    node('[[ $2 != gpu ]] || exit 75')
    const { status, stdout } = day('--only', 'bench-first,grid-vgg16-b8,compiled-vgg16-b8')
    expect(status, stdout).to.equal(3)
    expect(stdout).to.match(/^bench-first: not whole after \d+s, to be gone on with$/m)
    expect(stdout).to.match(/^left: bench-first grid-vgg16-b8 compiled-vgg16-b8; the same command/m)
    node('')
    expect(day('--only', 'bench-first,grid-vgg16-b8,compiled-vgg16-b8').stdout.match(/^(bench|grid|compiled).*: done in/gm)).to.have.length(
      3
    )
    const command = (step: string) => /^ran bench\/dist\/main\.js (.*)$/m.exec(output(step).split('== ').at(-1)!)![1]
    const kept = `--json --out ${join(folder, 'results/gpu')}`
    expect(command('bench-first')).to.equal(`gpu resnet32 b16 k1 k8 bf16 graph --pairs 3 --seconds 2 ${kept} --budget 4.00`)
    expect(command('grid-vgg16-b8')).to.equal(`gpu full vgg16 b8 eager graph streams stacked --pairs 3 --seconds 1.5 ${kept} --budget 8.66`)
    expect(command('compiled-vgg16-b8')).to.equal(`gpu full vgg16 b8 --pairs 3 --seconds 1.5 ${kept} --budget 8.66`)
  })

  it('measures ours with a part and without it, each in a folder of its own', () => {
    const parts = { sums: 'SUMS', side: 'SIDE_BRANCH', readback: 'READBACK', dependent: 'DEPENDENT_LAUNCH' }
    const told = Object.entries(parts).map(([part, variable]) => `${part} \${ARBALEST_CUDA_${variable}-on}`)
    node(`echo "${told.join(', ')}"`)
    const { status, stdout } = day('--only', ['bench-first', ...Object.keys(parts).map((part) => `bench-without-${part}`)].join())
    expect(status, stdout).to.equal(0)
    const all = Object.keys(parts).map((part) => `${part} on`)
    const folderOf = (name: string) => join(folder, 'results/gpu', name)
    expect(output('bench-first'))
      .to.include(`${all.join(', ')}\n`)
      .and.include(`--out ${join(folder, 'results/gpu')} `)
    for (const part of Object.keys(parts))
      for (const value of ['1', '0'])
        expect(output(`bench-without-${part}`))
          .to.include(`${all.map((each) => (each === `${part} on` ? `${part} ${value}` : each)).join(', ')}\n`)
          .and.match(new RegExp(`--peers none --json --out ${folderOf(`${part}-${value}`)} --budget 0\\.`))
  })

  it('looks whether banks compute the same before it measures in them', () => {
    const { stdout } = day('--only', 'banks,bench-first,bench-banks')
    expect(stdout.match(/^(banks|bench-first|bench-banks): done in/gm)).to.deep.equal(
      ['banks', 'bench-first', 'bench-banks'].map((name) => `${name}: done in`)
    )
    expect(output('banks')).to.match(/^ran scripts\/test-gpu\.js banks$/m)
    expect(output('bench-banks')).to.match(/^ran bench\/dist\/main\.js gpu resnet32 b16 k32 bf16 graph /m)
  })

  it('keeps what PyTorch has compiled, and carries it where it is not much', () => {
    const archive = join(folder, 'day.tar.gz')
    const compiled = join(folder, 'results/gpu/cache/inductor')
    node(`mkdir -p "$TORCHINDUCTOR_CACHE_DIR"; echo ran "$TORCHINDUCTOR_CACHE_DIR" "$ARBALEST_COMMIT"`)
    mkdirSync(join(folder, '.gpu'), { recursive: true })
    writeFileSync(join(folder, '.gpu/commit'), 'abc+\n')
    const carried = () => spawnSync('tar', ['-tzf', archive], { encoding: 'utf8' }).stdout
    day('--only', 'curves', '--archive', archive)
    expect(output('curves')).to.include(`ran ${compiled} abc+\n`)
    expect(carried()).to.include('./cache/inductor/')
    writeFileSync(join(compiled, 'kernels'), Buffer.alloc(40 * 2 ** 20, 1))
    day('--only', 'operators', '--archive', archive)
    expect(carried()).to.not.include('./cache/inductor')
  })

  it('unpacks where there is no xz', function () {
    for (const name of ['dist', 'native/build']) rmSync(join(folder, name), { recursive: true })
    const packed = spawnSync(join(folder, 'tools/python3'), ['-c', BUNDLE, join(folder, '.gpu/bundle.tar.xz')], { encoding: 'utf8' })
    if (packed.status !== 0) skip(this, `python3 cannot pack: ${packed.stderr}`)
    const { stdout, stderr } = day('--only', 'operators')
    expect(stderr).not.to.include('cannot be unpacked')
    expect(stdout).to.match(/^operators: done in/m)
  })

  it('unpacks again where a part has been taken away since', function () {
    const pack = `import os, sys, tarfile
with tarfile.open(sys.argv[1], 'w:xz') as bundle:
    for name in ['dist/src/index.js', 'native/build/Release/arbalest.node', 'bin/node', 'lib/libdnnl.so']:
        bundle.add(name)`
    const file = (name: string) => join(folder, name)
    for (const name of ['bin', 'lib']) mkdirSync(file(name))
    copyFileSync(file('tools/node'), file('bin/node'))
    for (const name of ['dist/src/index.js', 'lib/libdnnl.so']) writeFileSync(file(name), 'packed')
    const packed = spawnSync(file('tools/python3'), ['-c', pack, file('.gpu/bundle.tar.xz')], { encoding: 'utf8', cwd: folder })
    if (packed.status !== 0) skip(this, `python3 cannot pack: ${packed.stderr}`)
    day('--only', 'operators')
    for (const part of ['bin/node', 'lib']) {
      rmSync(file(part), { recursive: true })
      day('--only', 'operators')
      expect(existsSync(file('bin/node')) && existsSync(file('lib/libdnnl.so')), part).to.equal(true)
    }
    writeFileSync(file('dist/src/index.js'), 'built here')
    day('--only', 'operators')
    expect(readFileSync(file('dist/src/index.js'), 'utf8')).to.equal('built here')
  })

  function day(...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
    const env = { PATH: join(folder, 'tools'), HOME: folder, ARBALEST_DATA: join(folder, 'data'), PYTHONPATH: join(folder, 'torch') }
    return spawnSync(join(folder, 'scripts/gpu-day.sh'), args, { encoding: 'utf8', env })
  }

  /** A part of CIFAR-10, packed, as it is carried. */
  function bring(context: Mocha.Context, name: string): void {
    mkdirSync(join(folder, '.gpu/cifar-10'), { recursive: true })
    const pack = `import lzma, sys; lzma.open(sys.argv[1], 'wb').write(sys.argv[2].encode())`
    const file = join(folder, '.gpu/cifar-10', `${name}.bin.xz`)
    const packed = spawnSync(join(folder, 'tools/python3'), ['-c', pack, file, name], { encoding: 'utf8' })
    if (packed.status !== 0) skip(context, `python3 cannot pack: ${packed.stderr}`)
  }

  /** Says what it ran, and does this; as doctor, what it finds of CUDA. */
  function node(script: string, cuda = 'present'): void {
    const doctor = `echo '{"event":"doctor","checks":[{"name":"CUDA","status":"${cuda}","detail":"13"}]}'; exit`
    program(join(folder, 'tools/node'), `if [[ $2 == doctor ]]; then ${doctor}; fi\necho "ran $*"\n${script}`)
  }

  /** The probes of a GPU that averages eight replicas in so many microseconds. */
  function probe(microseconds: number): void {
    const line = (learners: number, value: number) => `echo '{"probe":"average","learners":${learners},"averageMicroseconds":${value}}'`
    program(join(folder, 'native/build-cuda/Release/arbalest-cuda-probe'), [line(8, microseconds), line(32, 90)].join('\n'))
  }

  function output(step: string): string {
    return readFileSync(join(folder, 'results/gpu', `${step}.txt`), 'utf8')
  }
})

function program(path: string, script: string): void {
  rmSync(path, { force: true })
  writeFileSync(path, `#!/bin/bash\n${script}\n`, { mode: 0o755 })
}

function pathOf(tool: string): string {
  const script = tool === 'python3' ? `python3 -c 'import sys; print(sys.executable)'` : `command -v ${tool}`
  return spawnSync('bash', ['-c', script], { encoding: 'utf8' }).stdout.trim()
}
