/** Makes test/oracle/fixtures anew, all or those named: `node dist/test/oracle/make-fixtures.js [NAME...]`. Wanted only when a problem has changed; `npm run format` then folds the lines. */
import { measureFixture, writeFixture } from './fixture.js'
import { PROBLEMS } from './problems.js'
import { pythonWithTorch } from './pytorch.js'

const python = pythonWithTorch()
if (python === undefined) throw new Error('no Python here can import torch: apt-get install python3-torch')
const chosen = process.argv.slice(2)
for (const [name, problem] of PROBLEMS) {
  if (chosen.length > 0 && !chosen.includes(name)) continue
  const fixture = measureFixture(python, problem())
  writeFixture(name, fixture)
  process.stdout.write(`${name}: PyTorch ${fixture.torch}, float32 from float64 ${JSON.stringify(fixture.difference)}\n`)
}
