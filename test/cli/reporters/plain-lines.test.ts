import { expect } from 'chai'
import { Writable } from 'node:stream'
import { stripVTControlCharacters } from 'node:util'
import { ThroughputMeter } from '../../../src/cli/reporters/reporter.js'
import { PlainLines } from '../../../src/cli/reporters/plain-lines.js'
import type { ProgressEvent, StartedEvent } from '../../../src/index.js'

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

describe('The plain lines of progress', () => {
  it('are about twenty in a long run with many events', () => {
    const output = new Text()
    let now = 0
    const lines = new PlainLines(output, { now: () => now })
    for (let iteration = 1; iteration <= 1000; iteration++) {
      now += 10_000
      lines.show(progress(iteration, now / 1000))
    }
    expect(output.text.trimEnd().split('\n')).to.have.length(20)
    expect(output.text)
      .to.match(/^ +5% .*\n/)
      .and.match(/100% .* 0:00 left\n$/)
  })

  it('are at least two seconds apart in a short run', () => {
    const output = new Text()
    let now = 0
    const lines = new PlainLines(output, { now: () => now })
    for (let iteration = 100; iteration <= 1000; iteration += 100) {
      now += 500
      lines.show(progress(iteration, now / 1000))
    }
    expect(output.text.trimEnd().split('\n')).to.have.length(2)
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

  it('begins with nothing', () => {
    expect(new ThroughputMeter(STARTED).at(progress(0, 0))).to.equal(0)
  })
})
