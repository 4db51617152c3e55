import { skip } from '../support/skip.js'
import { PROBLEMS } from './problems.js'
import { pythonWithTorch } from './pytorch.js'
import { expectRecordedAnswers } from './recorded.js'

describe('PyTorch as the oracle, asked again about every model', function () {
  this.timeout(30 * 60_000)

  for (const name of PROBLEMS.keys())
    it(`gives its recorded answers about ${name}`, function () {
      const python = pythonWithTorch()
      if (python === undefined) skip(this, 'no python3 that imports torch; on Debian: apt-get install python3-torch')
      expectRecordedAnswers(python, name)
    })
})
