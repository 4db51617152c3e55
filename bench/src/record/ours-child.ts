import { createInterface } from 'node:readline'
import { openDataset } from '../arbalest.js'
import { runRecipe, type OwnRun } from './run.js'

/** Steps of each learner before the first run that counts: what is searched for once for all runs has been found then. */
const WARM_UP_STEPS = 20

/** Says that it is ready when it is warm; then answers each line `run SEED` with a run's result; ends with its input. */
const given = JSON.parse(process.argv[2]!) as Omit<OwnRun, 'seed'>
const data = await openDataset('cifar-10')
await runRecipe({ ...given, seed: 0, steps: given.backend === 'cuda' ? WARM_UP_STEPS : 1 }, data, {
  copies: [{ shift: 0, mirrored: false, weight: 1 }]
})
say({ ready: true })
for await (const line of createInterface({ input: process.stdin })) {
  const [command, seed] = line.split(' ')
  if (command !== 'run') throw new RangeError(`command: received ${command}; use run SEED`)
  say(await runRecipe({ ...given, seed: Number(seed) }, data))
}

function say(answer: object): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`)
}
