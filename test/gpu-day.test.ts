import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
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

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'arbalest gpu day '))
    for (const name of ['scripts/cuda', 'tools', '.gpu', 'native/build-cuda/Release', 'dist/src', 'native/build/Release'])
      mkdirSync(join(folder, name), { recursive: true })
    for (const name of ['gpu-day.sh', 'cuda/kernel-times.py']) copyFileSync(join(SCRIPTS, name), join(folder, 'scripts', name))
    for (const tool of [...TOOLS, 'python3']) symlinkSync(pathOf(tool), join(folder, 'tools', tool))
    for (const file of ['dist/src/index.js', 'native/build/Release/arbalest.node']) writeFileSync(join(folder, file), '')
    for (const tool of ['node', 'nvidia-smi', 'nvcc', 'ncu']) program(join(folder, 'tools', tool), 'echo "ran $*"')
    program(join(folder, 'native/build-cuda/Release/arbalest-cuda-probe'), 'echo probed')
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
    expect(day('--only', 'kernels', '--force').stdout).to.match(/^kernels: done/m)
    expect(output('kernels')).to.match(/^left out: there is no ncu on this machine$/m)
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
    expect(day('--only', 'accuracy').stdout).to.match(/^accuracy: done/m)
    expect(output('accuracy')).to.match(/^ran bin\/arbalest\.js train .* --data-dir .*\/data\/cifar-10 /m)
  })

  it('unpacks where there is no xz', function () {
    for (const name of ['dist', 'native/build']) rmSync(join(folder, name), { recursive: true })
    const packed = spawnSync(join(folder, 'tools/python3'), ['-c', BUNDLE, join(folder, '.gpu/bundle.tar.xz')], { encoding: 'utf8' })
    if (packed.status !== 0) skip(this, `python3 cannot pack: ${packed.stderr}`)
    const { stdout, stderr } = day('--only', 'operators')
    expect(stderr).not.to.include('cannot be unpacked')
    expect(stdout).to.match(/^operators: done in/m)
  })

  function day(...args: readonly string[]): { status: number | null; stdout: string; stderr: string } {
    const env = { PATH: join(folder, 'tools'), HOME: folder, ARBALEST_DATA: join(folder, 'data') }
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
