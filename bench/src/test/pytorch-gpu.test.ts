import { expect } from 'chai'
import { fileURLToPath } from 'node:url'
import { skip } from '../../../dist/test/support/skip.js'
import { python, PYTHON } from './support/python.js'

const CHECK = fileURLToPath(new URL('../../src/test/pytorch_gpu_check.py', import.meta.url))
const LIFETIME = fileURLToPath(new URL('../../src/test/pytorch_gpu_lifetime_check.py', import.meta.url))

describe('PyTorch as a peer on a GPU', function () {
  this.timeout(240_000)

  it('is written in Python that can be read', function () {
    const read = `import ast, sys; [ast.parse(open(file).read(), file) for file in sys.argv[1:]]`
    if (python('--version').status !== 0) skip(this, `no ${PYTHON} here`)
    const { status, stderr } = python('-c', read, 'pytorch_gpu.py', 'models.py', CHECK, LIFETIME)
    expect(status, stderr).to.equal(0)
  })

  it('keeps what a recorded step uses for as long as it may be replayed', function () {
    if (python('--version').status !== 0) skip(this, `no ${PYTHON} here`)
    const { status, stdout, stderr } = python(LIFETIME)
    expect(status, stderr).to.equal(0)
    expect(stdout.match(/^ok /gm)).to.have.length(7)
  })

  it('has batches and replicas side by side as they are meant, without a GPU', function () {
    const needs = `import torch; assert tuple(map(int, torch.__version__.split('.')[:2])) >= (2, 4)`
    if (python('-c', needs).status !== 0) skip(this, `no ${PYTHON} here that has PyTorch 2.4 or newer; name one in ARBALEST_PYTHON`)
    const { status, stdout, stderr } = python(CHECK)
    expect(status, stderr).to.equal(0)
    expect(stdout.match(/^ok /gm)).to.have.length(5)
  })
})
