import { expect } from 'chai'
import { spawnSync } from 'node:child_process'
import { Console } from 'node:console'
import { PassThrough } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
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

describe('The progress bar', () => {
  const written = (events: readonly JobEvent[], columns = 120): string => {
    const output = Object.assign(new PassThrough(), { isTTY: true, columns })
    const bar = new ProgressBar(output)
    for (const event of events) bar.show(event)
    bar.close()
    return String(output.read())
  }
  const shown = (events: readonly JobEvent[], columns?: number): string => stripVTControlCharacters(written(events, columns))

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
    const resized: JobEvent = { event: 'intervened', intervention: { round: 20, iteration: 20, kind: 'resize', learners: 1 } }
    const percentages = shown([STARTED, progress(20, 50, 2), resized, progress(40, 80, 1), SKIPPED]).match(/\d+%(?=  epoch)/g)
    expect(percentages).to.include('40%')
    expect(percentages!.at(-1)).to.equal('50%')
  })

  it('tells on a narrow terminal what is of most use, in its width', () => {
    const measured: JobEvent = { event: 'evaluated', iteration: 20, epoch: 0.5, testLoss: 0.1, testAccuracy: 0.974, seconds: 1 }
    const line = (columns: number) =>
      shown([STARTED, measured, progress(20, 50, 2), SKIPPED], columns)
        .match(/[█░]+ 40%  [^\r\n]*?left/g)!
        .at(-1)!
    expect(line(120)).to.equal('██████████░░░░░░░░░░░░░░ 40%  epoch 0.50  320 samples/s x2  loss 1.0000  accuracy 97.40%  0:03 left')
    expect(line(80)).to.equal('██████░░░░░░░░░░ 40%  320 samples/s x2  loss 1.0000  accuracy 97.40%  0:03 left')
    expect(line(40)).to.equal('████░░░░░░░ 40%  loss 1.0000  0:03 left')
    for (const columns of [30, 40, 60, 80, 100]) expect(line(columns).length).to.be.below(columns)
  })

  it('leaves messages whole that are longer than a line', () => {
    // Without wrapping a terminal shows nothing of what is behind its last column.
    expect(written([STARTED, SKIPPED], 20))
      .to.include('photos/7.png')
      .and.not.include('\x1b[?7l')
  })

  /** What is to be read in the lines of a terminal: of each the text since the cursor was last set to its beginning. */
  const screen = (text: string): readonly string[] =>
    text.split('\n').map((line) => stripVTControlCharacters(line.replaceAll('\x1b[1G', '\r').split('\r').at(-1)!))

  it('makes place for what is told on stderr', () => {
    const output = Object.assign(new PassThrough(), { isTTY: true, columns: 120 })
    const write = output.write.bind(output)
    const stderr = Object.assign(new PassThrough(), { isTTY: true, write })
    const bar = new ProgressBar(output, { stderr })
    bar.show(STARTED)
    stderr.write('SIGINT: stopping\n')
    bar.close()
    expect(stderr.write).to.equal(write)
    stderr.write('after it\n')
    expect(String(output.read())).to.include('\r\x1b[KSIGINT: stopping\n').and.not.include('\x1b[Kafter it')
  })

  it('leaves a stderr alone that is no terminal', () => {
    const stderr = new PassThrough()
    const bar = new ProgressBar(Object.assign(new PassThrough(), { isTTY: true, columns: 120 }), { stderr })
    bar.show(STARTED)
    stderr.write('SIGINT: stopping\n')
    bar.close()
    expect(String(stderr.read())).to.equal('SIGINT: stopping\n')
  })

  it("stays below what a user's own code writes", () => {
    const output = Object.assign(new PassThrough(), { isTTY: true, columns: 120 })
    const bar = new ProgressBar(output)
    bar.show(STARTED)
    output.read()
    bar.show(progress(20, 50, 2))
    new Console(output).log('of my own\nin two lines')
    output.write(Buffer.from('of a thread\n'))
    const lines = screen(String(output.read()))
    expect(lines.slice(0, 3)).to.deep.equal(['of my own', 'in two lines', 'of a thread'])
    expect(lines.at(-1)).to.match(/^█+░+ 40%  epoch 0\.50 /)
    bar.close()
  })

  it('is drawn again only once a line is whole that others have begun', async () => {
    const output = Object.assign(new PassThrough(), { isTTY: true, columns: 120 })
    const bar = new ProgressBar(output)
    bar.show(STARTED)
    output.read()
    for (const text of ['.', '', '.']) output.write(text)
    bar.show(progress(20, 50, 2))
    // Longer than the pause between two drawings.
    await sleep(300)
    expect(screen(String(output.read()))).to.deep.equal(['..'])
    output.write('.\n')
    expect(screen(String(output.read())).at(-1)).to.match(/^█+░+ 40%/)
    output.write('half')
    bar.close()
    expect(screen(String(output.read()))[0]).to.equal('half')
  })

  for (const [how, code] of [
    ['process.exit(7)', 7],
    ["setTimeout(() => { throw new Error('late') })", 1]
  ] as const)
    it(`gives the terminal its cursor back where a user's own code ends the process by ${how}`, () => {
      const module = new URL('../../../src/cli/reporters/progress-bar.js', import.meta.url).href
      const script = `
        import { ProgressBar } from ${JSON.stringify(module)}
        process.stdout.isTTY = true
        new ProgressBar(process.stdout).show(${JSON.stringify(STARTED)})
        ${how}`
      const { stdout, status } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], { encoding: 'utf8' })
      expect(status).to.equal(code)
      expect(stdout.lastIndexOf('\x1b[?25h')).to.be.above(stdout.indexOf('\x1b[?25l'))
    })
})
