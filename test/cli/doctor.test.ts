import { expect } from 'chai'
import { existsSync } from 'node:fs'
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import type { Check } from '../../src/cli/check.js'
import { cudaChecks, runtimeOf, supportsNode } from '../../src/cli/doctor-command.js'
import { gpuCopies } from '../../src/cli/memory-checks.js'
import { describeCuda } from '../../src/engine/cuda.js'
import { builtMpi } from '../../src/engine/mpi.js'
import { DiskFolder } from '../support/disk-folder.js'
import { skip } from '../support/skip.js'
import { ROOT, run } from './support/arbalest.js'

describe('arbalest doctor', () => {
  it('reports what training needs, and that it can run', async () => {
    const { code, stdout, stderr } = await run(['doctor'])
    expect(code, stdout + stderr).to.equal(0)
    for (const word of ['Node.js', process.version, 'usable', 'a thread copies', 'oneDNN', 'CUDA', 'Training can run here.'])
      expect(stdout).to.include(word)
  })

  it('names Bun and Deno, which tell a version of Node.js', () => {
    const versions = { ...process.versions, node: '26.3.0' }
    expect(runtimeOf(versions)).to.equal('v26.3.0')
    expect(runtimeOf({ ...versions, bun: '1.4.5' })).to.equal('v26.3.0, as Bun 1.4.5 has it, on which Arbalest is not tested')
    expect(runtimeOf({ ...versions, deno: '2.9.6' })).to.equal('v26.3.0, as Deno 2.9.6 has it, on which Arbalest is not tested')
  })

  it('gives the same as one JSON object', async () => {
    const { code, lines } = await run(['doctor', '--json'])
    expect(code).to.equal(0)
    expect(lines).to.have.length(1)
    expect(lines[0]).to.include({ event: 'doctor', healthy: true })
    const checks = lines[0]!['checks'] as Check[]
    expect(checks.map(({ name }) => name)).to.include.members(['Node.js', 'processor', 'memory', 'backend cpu', 'CUDA'])
    for (const { status } of checks) expect(status).to.be.oneOf(['present', 'absent'])
  })

  it('measures the disk of the folder that it is called in, or says why no values could be moved there', async () => {
    const disk = async (cwd: string) =>
      ((await run(['doctor', '--json'], { cwd })).lines[0]!['checks'] as Check[]).find(({ name }) => name === 'disk')!
    await using folder = await DiskFolder.make()
    expect(await disk(folder.path)).to.include({ status: 'present' })
    expect((await disk(folder.path)).detail).to.match(/^\d+\.\d\d GB\/s written and \d+\.\d\d GB\/s read in /)
    expect(await disk('/dev/shm')).to.include({ status: 'absent' })
    expect((await disk('/dev/shm')).detail).to.include('its files lie in memory')
  })

  it('says why a GPU cannot be used, and goes on with the other checks', () => {
    const report = describeCuda()
    const isThere = typeof report !== 'string' && report.devices.length > 0
    const copies = gpuCopies()
    expect(copies.status).to.equal(isThere ? 'present' : 'absent')
    expect(copies.detail).to.match(isThere ? /GB\/s from the first GPU/ : /^backend cuda: /)
    const checks = (capability: string, moved: Check['status']): readonly Check[] => {
      const devices = [{ name: 'GPU', capability, memory: 2 ** 34, freeMemory: 2 ** 33 }]
      const found = {
        versions: { driver: '13', cuBLASLt: '13', cuDNN: '9' },
        missing: {},
        devices,
        banks: { steps: 0, refusals: 0, refusal: '' }
      }
      return cudaChecks(found, () => ({ name: 'GPU copies', status: moved, detail: 'no memory' }))
    }
    for (const capability of ['8.0', '9.0', '10.0', '12.0'])
      expect(checks(capability, 'present').map(({ status }) => status)).to.deep.equal(['present', 'present', 'present'])
    expect(checks('9.0', 'absent').map(({ status }) => status)).to.deep.equal(['absent', 'present'])
    expect(checks('9.0', 'absent')[0]!.detail).to.match(/; no memory$/)
    expect(checks('7.5', 'present').map(({ status }) => status)).to.deep.equal(['absent', 'absent'])
    expect(checks('7.5', 'present')[1]!.fix).to.include('compute capability 8.0 or higher')
  })

  it('says whether processes of several hosts can meet, without which one host trains', async () => {
    const { lines } = await run(['doctor', '--json'])
    const checks = lines[0]!['checks'] as Check[]
    const mpi = checks.find(({ name }) => name === 'MPI')!
    const built = builtMpi()
    expect(mpi.status).to.equal(built ? 'present' : 'absent')
    if (built) expect(mpi.detail).to.include(`${built.name} ${built.version}`).and.include('ULFM')
    else expect(mpi.fix).to.include('setup --mpi')
    expect(checks.map(({ name }) => name).includes('interfaces')).to.equal(built !== undefined)
  })

  it('says that it is bound to one core, as a launcher does it', async function () {
    if (cpus().length === 1 || spawnSync('taskset', ['-c', '0', 'true']).status !== 0) skip(this, 'there is one core, or no taskset')
    const { code, stdout } = await run(['doctor'], { through: ['taskset', '-c', '0'] })
    expect(code).to.equal(0)
    expect(stdout).to.match(/absent +binding +this process is bound to 1 of \d+ cores\n +-> .*--bind-to none/)
    expect((await run(['doctor'])).stdout).to.not.include('binding')
  })

  describe('in a package', () => {
    let folder: string
    const arbalest = (...args: string[]) => spawnSync(process.execPath, [join(folder, 'bin/arbalest.js'), ...args], { encoding: 'utf8' })

    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'arbalest doctor '))
      for (const part of ['bin', 'dist/src', 'package.json']) await cp(join(ROOT, part), join(folder, part), { recursive: true })
      await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    })
    afterEach(() => rm(folder, { recursive: true }))

    it('says what is missing and how to fix it if the engine is not built', () => {
      const doctor = arbalest('doctor')
      expect(doctor.status).to.equal(1)
      expect(doctor.stdout)
        .to.match(/missing.*native engine/)
        .and.include('run `npx arbalest setup`')
        .and.include('cannot run here')
      const train = arbalest('train', '--model', 'mlp', '--steps', '1')
      expect(train.status).to.equal(1)
      expect(train.stderr).to.match(/^ENGINE_MISSING: .* is not built yet; run `npx arbalest setup`, .*\n$/)
    })

    it('says that the engine is being built while a set-up builds it, and that its build has not ended after that', async function () {
      if (spawnSync('flock', ['--version']).status !== 0) skip(this, 'there is no flock, without which set-ups do not lock')
      await mkdir(join(folder, 'native/build/Release'), { recursive: true })
      // As the linker leaves it for a while.
      await writeFile(join(folder, 'native/build/Release/arbalest.node'), 'ELF')
      await mkdir(join(folder, '.setup'))
      const lock = join(folder, '.setup/lock')
      const setup = spawn('flock', [lock, 'sh', '-c', 'echo held && exec sleep 600'], {
        stdio: ['ignore', 'pipe', 'ignore'],
        detached: true
      })
      try {
        await once(setup.stdout, 'data')
        const during = arbalest('doctor')
        expect(during.status).to.equal(1)
        expect(during.stdout).to.match(/missing +native engine +a set-up is building it right now\n +-> wait/)
        expect(during.stdout).to.not.include('cannot be loaded').and.not.include('npx arbalest setup`\n')
      } finally {
        process.kill(-setup.pid!, 'SIGKILL')
        await once(setup, 'close')
      }
      expect(arbalest('doctor').stdout).to.match(
        /missing +native engine +its build has not ended\n +-> run `npx arbalest setup`, which goes on/
      )
      await writeFile(join(folder, 'native/build/stamp.json'), '{}')
      expect(arbalest('doctor').stdout).to.match(/missing +native engine +engine: the native library cannot be loaded/)
    })

    it('trains with an engine that npm brought, and says so', async () => {
      const brought = `@arbalest/${process.platform}-${process.arch}`
      const engine = join(folder, 'dist/node_modules', brought)
      await mkdir(engine, { recursive: true })
      await writeFile(join(engine, 'package.json'), '{}')
      await symlink(join(ROOT, 'native/build/Release/arbalest.node'), join(engine, 'arbalest.node'))
      expect(arbalest('doctor').stdout).to.include(`prebuilt, of the package ${brought}`).and.include('Training can run here.')
      const train = arbalest('train', '--model', 'mlp', '--steps', '1')
      expect(train.status, train.stderr).to.equal(0)
    })

    it('says that the engine is missing if it is of another version and lacks a call', async function () {
      const other = join(ROOT, 'node_modules/@napi-rs/nice-linux-x64-gnu/nice.linux-x64-gnu.node')
      if (!existsSync(other)) skip(this, 'there is no other addon that could be loaded')
      await cp(other, join(folder, 'native/build/Release/arbalest.node'))
      const doctor = arbalest('doctor')
      expect(doctor.status).to.equal(1)
      expect(doctor.stdout)
        .to.match(/missing.*native engine/)
        .and.include('cannot run here')
      const train = arbalest('train', '--model', 'mlp', '--steps', '1')
      expect(train.status).to.equal(1)
      expect(train.stderr).to.match(/^ENGINE_MISSING: .* \(it has no \w+\); run `npx arbalest setup`, .*\n$/)
    })
  })

  it('accepts the versions of Node that package.json accepts', async () => {
    const { engines } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { engines: { node: string } }
    expect(engines.node).to.equal('^20.19.0 || >=22.12.0')
    for (const version of ['v20.19.0', 'v20.20.2', 'v22.12.0', 'v24.0.0']) expect(supportsNode(version), version).to.equal(true)
    for (const version of ['v18.20.0', 'v20.18.9', 'v21.7.0', 'v22.11.0']) expect(supportsNode(version), version).to.equal(false)
  })
})
