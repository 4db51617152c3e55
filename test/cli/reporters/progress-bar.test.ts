import { expect } from 'chai'
import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { ProgressBar } from '../../../src/cli/reporters/progress-bar.js'
import type { JobEvent, StartedEvent } from '../../../src/index.js'

const SKIPPED: JobEvent = { event: 'sampleSkipped', item: 'photos/7.png', reason: 'no image', skipped: 1 }
const SET_ASIDE: JobEvent = { event: 'setAside', checkpoints: [{ folder: 'run/600', movedTo: 'run/600.aside', reason: 'cut short' }] }
const STARTED: StartedEvent = {
  event: 'started',
  model: 'mlp',
  data: 'digits',
  learners: 2,
  batch: 16,
  precision: 'f32',
  synchroniser: 'sma',
  seed: 1,
  parameters: 10,
  samples: 100,
  iterations: 50,
  bytesPerLearner: 1,
  bytesShared: 1
}

describe('The progress bar', () => {
  const shown = (events: readonly JobEvent[]): string => {
    const output = new PassThrough()
    const bar = new ProgressBar(output)
    for (const event of events) bar.show(event)
    bar.close()
    return stripVTControlCharacters(String(output.read()))
  }

  for (const [when, events] of [
    ['before it is there', [SKIPPED, SET_ASIDE]],
    ['while it moves', [STARTED, SKIPPED, SET_ASIDE]]
  ] as const)
    it(`tells what happens ${when}`, () => {
      expect(shown(events))
        .to.include('photos/7.png was skipped: no image; 1 so far\n')
        .and.include('moved aside: run/600 to run/600.aside: cut short\n')
    })
})
