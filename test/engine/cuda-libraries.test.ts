import { expect } from 'chai'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
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
})
