import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { perSecond, ProgressMeter } from '../../src/run/progress-meter.js'

const TWO = { members: [0, 1] }

function meter(): ProgressMeter {
  const rates = [
    { from: 0, rates: Float32Array.of(0.5) },
    { from: 3, rates: Float32Array.of(0.25) }
  ]
  return new ProgressMeter({ samples: 100, iterations: 50, batch: 5, learningRates: rates })
}

describe('a progress meter', () => {
  it('counts iterations, epochs and the mean loss since the last event', () => {
    const progress = meter()
    progress.start()
    expect(progress.event(TWO, Float32Array.of(3, 1))).to.include({ iteration: 2, epoch: 0.2, loss: 2, learningRate: 0.5, learners: 2 })
    expect(progress.event(TWO, new Float32Array(0))).to.equal(undefined)
    expect(progress.iteration).to.equal(2)
    expect(progress.event(TWO, Float32Array.of(0.5, 0.25))).to.include({ iteration: 4, epoch: 0.4, loss: 0.375, learningRate: 0.25 })
  })

  it('stops its clock while the run is paused', async () => {
    const progress = meter()
    progress.start()
    progress.pause()
    const { seconds } = progress
    await sleep(15)
    expect(progress.seconds).to.equal(seconds)
    progress.start()
    await sleep(15)
    expect(progress.seconds).to.be.greaterThan(seconds + 0.01)
  })

  it('counts images a second over the last events only', async () => {
    const progress = meter()
    progress.start()
    progress.event(TWO, new Float32Array(1_000_000))
    for (let i = 0; i < 10; i++) progress.event(TWO, Float32Array.of(1))
    const before = progress.seconds
    await sleep(50)
    // Ten iterations of ten images each in 50 ms or more; the first million would show.
    const { imagesPerSecond, seconds } = progress.event(TWO, Float32Array.of(1))!
    expect(imagesPerSecond).to.be.at.most(100 / (seconds - before))
    expect(imagesPerSecond).to.be.greaterThan(0)
  })

  it('says 0 where no time has passed', () => {
    expect(perSecond(7, 0)).to.equal(0)
    expect(perSecond(7, 2)).to.equal(3.5)
  })
})
