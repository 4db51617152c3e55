/** Makes test/oracle/fixtures/optimisers.json anew. Wanted only when a case has changed. */
import { smallTraining } from '../engine/support/small-training.js'
import { askPyTorch, writeOptimiserFixture } from './optimiser-problem.js'
import { pythonWithTorch } from './pytorch.js'

const python = pythonWithTorch()
if (python === undefined) throw new Error('no Python here can import torch: apt-get install python3-torch')
writeOptimiserFixture(askPyTorch(python, smallTraining('reference', {}).program))
