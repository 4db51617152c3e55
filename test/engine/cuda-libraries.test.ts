import { expect } from 'chai'
import { readFileSync } from 'node:fs'
import { describeCuda } from '../../src/engine/cuda.js'
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
})
