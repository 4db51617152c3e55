import { expect } from 'chai'
import type { OfferedTensor } from '../../src/compiler/program.js'
import { engine } from '../../src/engine/native.js'
import { refused } from '../support/codes.js'
import { skip } from '../support/skip.js'
import { backwardProblem, forwardProblem, type Problem } from './support/backward-case.js'
import { testedBackends } from './support/backends.js'
import { BoundOperator } from './support/bound-operator.js'
import { deviations, expectNone } from './support/magnitudes.js'
import type { Values } from './support/operator-case.js'
import type { OperatorRow } from './support/operator-table.js'
import { recurrentRows, type RecurrentExtents } from './support/recurrent-rows.js'
import { largest } from './support/sequence-magnitudes.js'

const hasStandIn = testedBackends().some(({ name }) => name === 'cuda-host')

/** The forward and the backward pass of every kind, over padded sequences. */
function passes(extents: RecurrentExtents, precision: 'f32' | 'bf16'): Problem[] {
  const ofRow = (row: OperatorRow): Problem[] => {
    const use = row.cases.at(-1)!
    return [forwardProblem(row, use, precision), ...row.backward.map((backward) => backwardProblem(row, backward, use, precision))]
  }
  return recurrentRows([extents]).flatMap(ofRow)
}

function run(backend: 'cpu' | 'cuda-host', precision: 'f32' | 'bf16', { use, values }: Problem, threads = 1): Values {
  const bound = new BoundOperator(backend, precision, use, { threads })
  try {
    return bound.run(values).outputs
  } finally {
    bound.release()
  }
}

describe('recurrent layers', () => {
  for (const precision of ['f32', 'bf16'] as const)
    it(`have the same bits on one thread and on several in ${precision}`, function () {
      const { precisions } = testedBackends().find(({ name }) => name === 'cpu')!
      if (!precisions.includes(precision)) skip(this, `this processor has no ${precision}`)
      // More threads than samples, and samples that no number of threads divides.
      for (const samples of [3, 13])
        for (const problem of passes([samples, 12, 40], precision))
          expect(run('cpu', precision, problem, 4), problem.use.name).to.deep.equal(run('cpu', precision, problem))
    })

  it('keep the gates of an LSTM where its inputs lay, and their gradients where the gates were', () => {
    for (const backend of ['cpu', ...(hasStandIn ? (['cuda-host'] as const) : [])] as const) {
      const overwritten = passes([2, 3, 5], 'f32').map(({ use }) => {
        const bound = new BoundOperator(backend, 'f32', use)
        bound.release()
        return `${use.kind} ${JSON.stringify(bound.answer.inPlace)}`
      })
      expect(overwritten, backend).to.include.members(['lstm [[1,0]]', 'lstmBackward [[0,0]]', 'gru []'])
    }
  })

  it('are computed a sample a block on a GPU where the states of four do not fit', function () {
    if (!hasStandIn) skip(this, 'no cuda-host here')
    for (const problem of passes([2, 2, 1030], 'f32')) {
      const [found, wanted] = [run('cuda-host', 'f32', problem), run('cpu', 'f32', problem)]
      expectNone(deviations(problem.use, found, wanted, largest(problem.use, problem.values, wanted), 1e-5))
    }
  })

  it('are refused on a GPU before there is memory for more features than a block holds', async function () {
    if (!hasStandIn) skip(this, 'no cuda-host here')
    for (const { kind, cases } of recurrentRows([[1, 2, 5000]])) {
      const { attributes, inputs, outputs } = cases[0]!
      const offered = (ports: typeof inputs): (OfferedTensor | null)[] =>
        Object.values(ports).map((port) => port && { shape: port.shape, type: 'f32', layout: null })
      const request = { kind, attributes, inputs: offered(inputs), outputs: offered(outputs), precision: 'f32', threads: 1 } as const
      await refused(
        'UNSUPPORTED_OPERATOR',
        () => engine.lower('cuda-host', request),
        "features of a recurrent layer: received 5000; a GPU's kernels hold the states of at most 4096"
      )
    }
  })
})
