import { expect } from 'chai'
import { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { ThroughputMeter } from '../../../src/cli/reporters/reporter.js'
import { PlainLines } from '../../../src/cli/reporters/plain-lines.js'
import type { FinishedEvent, JobEvent, PopulationEvent, ProgressEvent, StartedEvent } from '../../../src/index.js'

const STARTED = { event: 'started', batch: 16, learners: 2, iterations: 1000 } as StartedEvent

function progress(iteration: number, seconds: number, learners = 2): ProgressEvent {
  return {
    event: 'progress',
    iteration,
    iterations: 1000,
    epoch: iteration / 500,
    loss: 1,
    learningRate: 0.1,
    imagesPerSecond: 0,
    learners,
    dataWait: 0,
    seconds
  }
}

class Text extends Writable {
  text = ''
  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    this.text += chunk.toString()
    done()
  }
}

/** The seconds at which lines are written of a run that reports its progress ten times a second for so long. */
function secondsOfLines(seconds: number): number[] {
  const output = new Text()
  let now = 0
  const lines = new PlainLines(output, { now: () => now })
  const written: number[] = []
  for (let tick = 1; tick <= 10 * seconds; tick++) {
    now = 100 * tick
    const before = output.text
    lines.show(progress(tick, now / 1000))
    if (output.text !== before) written.push(now / 1000)
  }
  expect(output.text.split('\n')).to.have.length(written.length + 1)
  return written
}

describe('The plain lines of progress', () => {
  it('begin after two seconds, and follow every few', () => {
    expect(secondsOfLines(20)).to.deep.equal([2, 6, 10, 14, 18])
  })

  it('are not many in a run of a day, and no two are more than ten minutes apart', () => {
    const written = secondsOfLines(24 * 3600)
    expect(written).to.have.length.within(50, 200)
    const pauses = written.map((second, i) => second - (written[i - 1] ?? 0))
    expect(Math.max(...pauses)).to.be.closeTo(600, 0.2)
    // In the first ten minutes it is about one.
    expect(Math.max(...pauses.filter((_, i) => written[i]! < 600))).to.be.below(75)
  })
})

describe('The trials of the tuner', () => {
  const decision = (action: PopulationEvent['action'], from: number, to: number, reason: string): PopulationEvent => ({
    event: 'population',
    action,
    from,
    to,
    reason,
    round: 1,
    iteration: 1,
    iterations: 1000,
    figures: []
  })
  const FINISHED = {
    event: 'finished',
    reason: 'completed',
    epochs: 1,
    seconds: 1,
    testAccuracy: null,
    testLoss: 1,
    weightsSha256: 'a'
  } as FinishedEvent
  const linesOf = (events: readonly JobEvent[], verbose: boolean) => {
    const output = new Text()
    const lines = new PlainLines(output, { verbose })
    for (const event of [...events, FINISHED]) lines.show(event)
    return stripVTControlCharacters(output.text).trimEnd().split('\n').slice(0, -2)
  }
  const SEARCH = [decision('try', 2, 3, 'trying 3'), decision('try', 3, 1, 'trying 1'), decision('settle', 1, 3, 'settled on 3 learners')]

  it('are one line at the end', () => {
    expect(linesOf(SEARCH, false)).to.deep.equal([
      'learners: from 2 to 3 after 2 trials (of 1, 3): settled on 3 learners; --verbose tells each trial'
    ])
  })

  it('are a line each with --verbose', () => {
    expect(linesOf(SEARCH, true)).to.deep.equal([
      '2 -> 3 learners at round 1: trying 3',
      '3 -> 1 learners at round 1: trying 1',
      '1 -> 3 learners at round 1: settled on 3 learners'
    ])
  })

  it('are no line where there was none; the changes of a schedule are told as they come', () => {
    expect(linesOf([decision('settle', 2, 2, 'the run ends in about 3 s')], false)).to.deep.equal([])
    expect(linesOf([decision('follow', 2, 4, 'as given')], false)).to.deep.equal(['2 -> 4 learners at round 1: as given'])
  })
})

describe('What was moved aside', () => {
  it('is told with where it lies and why, also where no run is resumed', () => {
    const output = new Text()
    const [folder, movedTo] = ['run/checkpoint-600', 'run/checkpoint-600.aside']
    new PlainLines(output).show({ event: 'setAside', checkpoints: [{ folder, movedTo, reason: 'cut short' }] })
    expect(stripVTControlCharacters(output.text)).to.equal(`moved aside: ${folder} to ${movedTo}: cut short\n`)
  })
})

describe('The throughput', () => {
  it('is that of the last whole second, whatever the interval of events', () => {
    const meter = new ThroughputMeter(STARTED)
    expect(meter.at(progress(10, 0.5))).to.equal((10 * 32) / 0.5)
    expect(meter.at(progress(20, 1))).to.equal(20 * 32)
    expect(meter.at(progress(20, 1.2))).to.equal(20 * 32)
    expect(meter.at(progress(50, 2))).to.equal(30 * 32)
  })

  it('counts no iteration of one population as one of another', () => {
    const meter = new ThroughputMeter(STARTED)
    meter.at(progress(20, 1))
    expect(meter.at(progress(40, 1.9, 4))).to.equal(20 * 32)
    expect(meter.at(progress(70, 2.9, 4))).to.equal(30 * 64)
  })

  it('begins anew where the seconds do, when a run has gone back', () => {
    const meter = new ThroughputMeter(STARTED)
    for (let s = 1; s <= 10; s++) meter.at(progress(100 * s, s))
    expect(meter.at(progress(10, 1))).to.be.at.least(0)
    expect(meter.at(progress(20, 2))).to.equal(10 * 32)
    expect(meter.at(progress(100, 10.5))).to.be.closeTo((80 * 32) / 8.5, 1e-9)
  })

  it('begins with nothing', () => {
    expect(new ThroughputMeter(STARTED).at(progress(0, 0))).to.equal(0)
  })
})
