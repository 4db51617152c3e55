import { expect } from 'chai'
import { execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describeCuda, type CudaReport } from '../../src/engine/cuda.js'
import { skip } from '../support/skip.js'

describe('The libraries of the CUDA backend', () => {
  it('are opened with those that they look for by name alone', function () {
    const report = describeCuda()
    if (typeof report === 'string') skip(this, report)
    const missing = ['NVRTC', 'cuDNN'].find((name) => report.versions[name] === undefined)
    if (missing !== undefined) skip(this, report.missing[missing]!)
    const opened = readFileSync('/proc/self/maps', 'utf8')
    // Without the last one every compilation by NVRTC fails.
    for (const name of ['libcudnn.so.9', 'libcublasLt.so.13', 'libnvrtc.so.13', `libnvrtc-builtins.so.${report.versions['NVRTC']}`])
      expect(opened, name).to.include(name)
  })
  it('are told apart where they are there and cannot be opened', function () {
    const report = describeCuda()
    if (typeof report === 'string') skip(this, report)
    const folder = mkdtempSync(join(tmpdir(), 'cuda-'))
    try {
      // The addon and its libraries in another place, where no .cuda is beside them.
      const release = join(folder, 'native/build/Release')
      cpSync(new URL('../../../native/build/Release/', import.meta.url), release, { recursive: true })
      mkdirSync(join(folder, '.cuda'))
      writeFileSync(join(folder, '.cuda/libnvrtc.so.13'), 'half a file')
      const asked = `process.stdout.write(require(${JSON.stringify(join(release, 'arbalest.node'))}).describe('cuda').detail)`
      const { ARBALEST_CUDA_PATH: _, LD_LIBRARY_PATH: __, ...env } = process.env
      const { missing } = JSON.parse(execFileSync(process.execPath, ['-e', asked], { env, encoding: 'utf8' })) as CudaReport
      if (missing['NVRTC'] === undefined) skip(this, 'this machine’s own loader finds an NVRTC')
      expect(missing['NVRTC']).to.match(
        /^backend cuda: NVRTC is there and cannot be opened \(.*libnvrtc\.so\.13.*\); run `npx arbalest setup --cuda`/
      )
      expect(missing['cuBLASLt']).to.match(/^backend cuda: cuBLASLt \(libcublasLt\.so\.13\) is not to be found; run/)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
  it('are found in the folder of the package where the engine is one of its own, as npm brings it', function () {
    const built = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url))
    if (spawnSync(process.execPath, [built('scripts/build-cuda.js'), '--packed', '--check']).status !== 0)
      skip(this, 'no CUDA library of these sources; `npm run build:cuda` makes it')
    const folder = mkdtempSync(join(tmpdir(), 'cuda-'))
    try {
      const [own, engine] = ['arbalest', `@arbalest/${process.platform}-${process.arch}`].map((name) =>
        join(folder, 'node_modules', name)
      ) as [string, string]
      for (const each of [join(own, 'native'), join(own, '.cuda'), engine]) mkdirSync(each, { recursive: true })
      cpSync(built('scripts'), join(own, 'scripts'), { recursive: true })
      for (const name of ['package.json', 'native/src', 'native/build-cuda']) symlinkSync(built(name), join(own, name))
      writeFileSync(join(own, '.cuda/libnvrtc.so.13'), 'half a file')
      const { version } = JSON.parse(readFileSync(built('package.json'), 'utf8')) as { version: string }
      for (const name of ['package.json', 'provenance.json']) writeFileSync(join(engine, name), JSON.stringify({ version }))
      for (const name of readdirSync(built('native/build/Release')).filter((file) => !file.includes('cuda')))
        // What is required is looked for by its real path.
        if (name === 'arbalest.node') copyFileSync(join(built('native/build/Release'), name), join(engine, name))
        else symlinkSync(join(built('native/build/Release'), name), join(engine, name))
      execFileSync(process.execPath, [join(own, 'scripts/build-cuda.js'), '--packed'])
      const asked = `process.stdout.write(require(${JSON.stringify(join(engine, 'arbalest.node'))}).describe('cuda').detail)`
      const { ARBALEST_CUDA_PATH: _, LD_LIBRARY_PATH: __, ...env } = process.env
      const { missing } = JSON.parse(execFileSync(process.execPath, ['-e', asked], { env, encoding: 'utf8' })) as CudaReport
      if (missing['NVRTC'] === undefined) skip(this, 'this machine’s own loader finds an NVRTC')
      expect(missing['NVRTC']).to.match(/^backend cuda: NVRTC is there and cannot be opened/)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
  it('are built for the GPUs of this machine by --arch native, whichever CMake there is', function () {
    const built = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url))
    if (spawnSync(process.execPath, [built('scripts/setup-cuda.js'), '--check']).status !== 0) skip(this, 'no CUDA toolkit here')
    const folder = mkdtempSync(join(tmpdir(), 'cuda-'))
    try {
      cpSync(built('scripts'), join(folder, 'scripts'), { recursive: true })
      for (const name of ['tools', 'native']) mkdirSync(join(folder, name))
      for (const name of ['native/src', '.cuda']) if (existsSync(built(name))) symlinkSync(built(name), join(folder, name))
      const build = (gpus: string) => {
        for (const [tool, words] of [
          ['nvidia-smi', `printf '${gpus}'`],
          ['cmake', 'echo "$@"; exit 1']
        ] as const)
          writeFileSync(join(folder, 'tools', tool), `#!/bin/sh\n${words}\n`, { mode: 0o755 })
        const env = { ...process.env, PATH: `${join(folder, 'tools')}:${process.env['PATH']}` }
        return spawnSync(process.execPath, [join(folder, 'scripts/build-cuda.js'), '--arch', 'native'], { encoding: 'utf8', env })
      }
      expect(build('8.6\\n12.0\\n12.0\\n').stdout).to.include('-DCMAKE_CUDA_ARCHITECTURES=86-real;120-real;120-virtual')
      const without = build('')
      expect(without.status).to.equal(2)
      expect(without.stderr).to.match(/^--arch: received native; nvidia-smi tells of no GPU here, give /)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })
  it('have errors after which the process has to end, all of which are DEVICE_FAILED', function () {
    const file = (path: string) => fileURLToPath(new URL(`../../../${path}`, import.meta.url))
    const header = file('.cuda/nvidia/cu13/include/driver_types.h')
    if (!existsSync(header)) skip(this, 'no headers of CUDA in .cuda; `npm run setup:cuda` installs them')
    const errors = [...readFileSync(header, 'utf8').matchAll(/\/\*\*((?:(?!\*\/)[^])*)\*\/\s+(cudaError\w+)\s+=/g)]
    const final = errors.filter(([, words]) => /must\s+be\s+terminated/.test(words!.replaceAll(/\s+\*/g, ''))).map(([, , name]) => name)
    expect(final).to.include('cudaErrorIllegalAddress')
    const sources = readFileSync(file('native/src/cuda/device/runtime.cpp'), 'utf8')
    const told = [...sources.slice(sources.indexOf('bool is_sticky')).matchAll(/case (cudaError\w+):/g)].map(([, name]) => name)
    expect(told).to.include.members(final)
  })
})
