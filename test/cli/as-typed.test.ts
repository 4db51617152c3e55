import { expect } from 'chai'
import { asTyped } from '../../src/cli/as-typed.js'
import type { FlagValues } from '../../src/cli/option-flags.js'
import { flagOf } from '../../src/cli/train-flags.js'
import { ArbalestError, invalidOption, together, unknownName } from '../../src/errors.js'

describe('A refusal as it was typed', () => {
  const fix = 'use a number above 0'
  const told = (error: ArbalestError, flags: FlagValues, file?: string) =>
    asTyped(error, { nameOf: (path) => flagOf(path, flags), file }) as ArbalestError

  it("names the config's file once a line, whatever the file is called and however alike the fixes are", () => {
    const error = together([
      invalidOption('optimiser.learningRate', -1, fix),
      invalidOption('until.seconds', -2, fix),
      invalidOption('batch', 0, fix)
    ])
    const { message, data } = told(error, { batch: 0 }, 'run$&.ts')
    expect(message.split('\n')).to.deep.equal([
      '3 options cannot be used as they are:',
      `  optimiser.learningRate: received -1; ${fix} (run$&.ts)`,
      `  until.seconds: received -2; ${fix} (run$&.ts)`,
      `  --batch: received 0; ${fix}`
    ])
    expect(data['parameter']).to.equal('optimiser.learningRate')
  })

  it('names the flag of an error that is no refusal and begins with an option, and of no other', () => {
    const held = new ArbalestError('INVALID_STATE', 'checkpoint.dir: received kept; another run writes into it', {
      data: { folder: 'kept' }
    })
    const { code, message, data } = told(held, { checkpointDir: 'kept' })
    expect([code, message]).to.deep.equal(['INVALID_STATE', '--checkpoint-dir: received kept; another run writes into it'])
    expect(data).to.deep.equal({ folder: 'kept', parameter: '--checkpoint-dir' })
    const lost = new ArbalestError('LEARNER_FAILED', 'learners: all have ended')
    expect(told(lost, { learners: 2 })).to.equal(lost)
  })

  it('keeps code and figures, and any other error as it is', () => {
    const { code, message, data } = told(unknownName('model', 'lenett', ['lenet', 'mlp']), { model: 'lenett' })
    expect([code, message]).to.deep.equal(['UNKNOWN_NAME', '--model: received "lenett"; use one of lenet, mlp; did you mean lenet?'])
    expect(data).to.deep.include({ parameter: '--model', known: ['lenet', 'mlp'] })
    for (const other of [new Error('no'), new ArbalestError('DATA_NOT_FOUND', 'no')])
      expect(asTyped(other, { nameOf: () => '--x', file: 'run.ts' })).to.equal(other)
  })
})
