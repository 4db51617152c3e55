import { expect } from 'chai'
import { PassThrough } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { ProgressBar } from '../../../src/cli/reporters/progress-bar.js'
import type { JobEvent, ProgressEvent, StartedEvent } from '../../../src/index.js'

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
    const output = Object.assign(new PassThrough(), { isTTY: true, columns: 120 })
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

  it('is as full as the run is far, also after a program has changed the number of learners', () => {
    const progress = (iteration: number, iterations: number, learners: number): ProgressEvent => ({
      event: 'progress',
      iteration,
      iterations,
      epoch: 0.5,
      loss: 1,
      learningRate: 0.1,
      learners,
      imagesPerSecond: 10,
      dataWait: 0,
      seconds: iteration / 10
    })
    const resized: JobEvent = { event: 'intervened', intervention: { round: 20, iteration: 20, kind: 'resize', learners: 1 } }
    const percentages = shown([STARTED, progress(20, 50, 2), resized, progress(40, 80, 1), SKIPPED]).match(/\d+%(?=  epoch)/g)
    expect(percentages).to.include('40%')
    expect(percentages!.at(-1)).to.equal('50%')
  })
})
