import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import type { ProgressEvent } from '../../../src/observe/events.js'
import { perSecond, ProgressMeter } from '../../../src/run/report/progress-meter.js'

const TWO = { members: [0, 1], iterations: 0 }

function meter(every?: number): ProgressMeter {
  const rates = [
    { from: 0, rates: Float32Array.of(0.5) },
    { from: 3, rates: Float32Array.of(0.25) }
  ]
  return new ProgressMeter({ samples: 100, iterations: 50, batch: 5, learningRates: rates, ...(every !== undefined && { every }) })
}

describe('a progress meter', () => {
  it('counts iterations, epochs and the mean loss since the last event', () => {
    const progress = meter()
    progress.start()
    expect(progress.events(TWO, Float32Array.of(3, 1))[0]).to.include({ iteration: 2, epoch: 0.2, loss: 2, learningRate: 0.5, learners: 2 })
    expect(progress.events(TWO, new Float32Array(0))).to.deep.equal([])
    expect(progress.iteration).to.equal(2)
    expect(progress.events(TWO, Float32Array.of(0.5, 0.25))[0]).to.include({ iteration: 4, epoch: 0.4, loss: 0.375, learningRate: 0.25 })
  })

  it('makes an event at each multiple of a number of iterations, from whole losses, however the calls divide them', () => {
    const losses = Float32Array.from({ length: 14 }, (_, i) => i)
    const eventsIn = (...calls: readonly number[]) => {
      const progress = meter(4)
      progress.start()
      let from = 0
      return calls.flatMap((count) => progress.events(TWO, losses.subarray(from, (from += count))))
    }
    const points = (events: readonly ProgressEvent[]) =>
      events.map(({ iteration, loss, learningRate, epoch }) => [iteration, loss, learningRate, epoch])
    const expected = [[4, 1.5, 0.25, 0.4], [8, 5.5, 0.25, 0.8], [12, 9.5, 0.25, 1.2]] // prettier-ignore
    expect(points(eventsIn(14))).to.deep.equal(expected)
    expect(points(eventsIn(1, 2, 3, 0, 7, 1))).to.deep.equal(expected)
    expect(points(eventsIn(3))).to.deep.equal([])
  })

  it('divides the time between two calls among the events', async () => {
    const progress = meter(10)
    progress.start()
    await sleep(20)
    const events = progress.events(TWO, new Float32Array(40))
    const [first] = events as [ProgressEvent]
    events.forEach(({ seconds, imagesPerSecond }, i) => {
      expect(seconds).to.be.closeTo((i + 1) * first.seconds, 1e-9)
      expect(imagesPerSecond).to.be.closeTo(100 / first.seconds, 1e-3 * imagesPerSecond)
    })
    expect(first.seconds).to.be.above(0.004)
  })

  it('counts iterations whose losses the engine has forgotten', () => {
    const progress = meter()
    expect(progress.events({ ...TWO, iterations: 7 }, Float32Array.of(1, 3))[0]).to.include({ iteration: 7, loss: 2, epoch: 0.7 })
    expect(progress.iteration).to.equal(7)
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
    progress.events(TWO, new Float32Array(1_000_000))
    for (let i = 0; i < 10; i++) progress.events(TWO, Float32Array.of(1))
    const before = progress.seconds
    await sleep(50)
    // Ten iterations of ten images each in 50 ms or more; the first million would show.
    const [{ imagesPerSecond, seconds }] = progress.events(TWO, Float32Array.of(1)) as [ProgressEvent]
    expect(imagesPerSecond).to.be.at.most(100 / (seconds - before))
    expect(imagesPerSecond).to.be.greaterThan(0)
  })

  it('says 0 where no time has passed', () => {
    expect(perSecond(7, 0)).to.equal(0)
    expect(perSecond(7, 2)).to.equal(3.5)
  })
})
