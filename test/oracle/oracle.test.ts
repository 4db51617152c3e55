import { expect } from 'chai'
import { skip } from '../support/skip.js'
import { readFixture } from './fixture.js'
import { runOurs } from './ours.js'
import { fingerprint, type Problem } from './problem.js'
import { PROBLEMS } from './problems.js'
import { pythonWithTorch } from './pytorch.js'
import { expectRecordedAnswers } from './recorded.js'
import { distances, drift, project } from './trace.js'

/** Ours may be as far from float64 as this many times PyTorch's own float32. */
const ALLOWANCE = 3
/** What takes one step. */
const LARGE: readonly string[] = [
  'resnet18',
  'resnet50',
  'vgg16',
  'mobilenet_v2',
  'mobilenet_v3_small',
  'efficientnet_b0',
  'inception_v3',
  'convnet',
  'alexnet'
]

describe('PyTorch as the oracle', function () {
  this.timeout(120_000)

  it('is asked about the problems that its recorded answers are about', () => {
    for (const [name, problem] of PROBLEMS)
      if (!LARGE.includes(name)) expect(fingerprint(problem()), name).to.equal(readFixture(name).fingerprint)
  })

  // The large models' answers are asked for again in oracle.slow.test.ts.
  for (const name of ['lenet', 'resnet20', 'resnet20_gn', 'gpt', 'text-classifier', 'vit-tiny', 'recurrent', 'segments'])
    it(`gives its recorded answers about ${name} again where it is installed`, function () {
      const python = pythonWithTorch()
      if (python === undefined) skip(this, 'no python3 that imports torch; on Debian: apt-get install python3-torch')
      expectRecordedAnswers(python, name)
    })

  describe('LeNet, ten steps of SGD with momentum', () => {
    const problem = PROBLEMS.get('lenet')!()
    const recorded = readFixture('lenet')

    it('has the same losses in float32, to 1e-4', () => {
      const ours = runOurs(problem, { backend: 'cpu', precision: 'f32' })
      expect(drift(ours.losses, recorded.losses.float32)).to.be.below(1e-4)
    })

    it('has the same losses, gradients and trained weights in plain float64 loops, to 1e-9', () => {
      const ours = runOurs(problem, { backend: 'reference', precision: 'f64' })
      expect(drift(ours.losses, recorded.losses.float64)).to.be.below(1e-9)
      expect(distances(project(problem, ours.gradients), recorded.gradients).whole).to.be.below(1e-9)
      expect(distances(project(problem, ours.trained), recorded.trained).whole).to.be.below(1e-9)
    })
  })

  for (const [title, name] of [
    ['ResNet-20', 'resnet20'],
    ['ResNet-20 with group norms', 'resnet20_gn'],
    ['GPT', 'gpt'],
    ['encoder of texts of several lengths', 'text-classifier'],
    ['vision transformer', 'vit-tiny'],
    ['recurrent layers', 'recurrent'],
    ['the classes of pixels', 'segments']
  ] as const)
    describe(`${title}, ten steps of SGD with momentum`, () => {
      const problem = PROBLEMS.get(name)!()
      const recorded = readFixture(name)
      const ours = (() => {
        let trace: ReturnType<typeof runOurs> | undefined
        return () => (trace ??= runOurs(problem, { backend: 'cpu', precision: 'f32' }))
      })()

      it('has the same first loss in float32, to 1e-5', () => {
        expect(ours().losses[0]).to.be.closeTo(recorded.losses.float64[0]!, 1e-5)
      })

      it(`has gradients within ${ALLOWANCE} times PyTorch's own distance from float64`, () => {
        const { whole } = distances(project(problem, ours().gradients), recorded.gradients)
        expect(whole).to.be.below(ALLOWANCE * recorded.difference.gradients)
      })

      it(`drifts in ten steps no farther than ${ALLOWANCE} times as far as PyTorch's own float32`, () => {
        expect(drift(ours().losses, recorded.losses.float64), 'losses').to.be.below(ALLOWANCE * recorded.difference.losses)
        const { whole } = distances(project(problem, ours().trained), recorded.trained)
        expect(whole, 'trained weights').to.be.below(ALLOWANCE * recorded.difference.trained)
      })

      it('has the same first step in plain float64 loops, to 1e-9', () => {
        const exact = runOurs(problem, { backend: 'reference', precision: 'f64', steps: 1 })
        expect(exact.losses[0]).to.be.closeTo(recorded.losses.float64[0]!, 1e-9)
        expect(distances(project(problem, exact.gradients), recorded.gradients).whole).to.be.below(1e-8)
      })
    })

  for (const name of LARGE)
    describe(`${name}, one step`, () => {
      let problem: Problem
      let ours: ReturnType<typeof runOurs>
      // Drawing the weights of a large model takes longer than its step.
      before(() => {
        problem = PROBLEMS.get(name)!()
        ours = runOurs(problem, { backend: 'cpu', precision: 'f32' })
      })
      after(() => {
        problem = undefined as never
        ours = undefined as never
      })

      it('is the problem that the recorded answers are about', () => {
        expect(fingerprint(problem)).to.equal(readFixture(name).fingerprint)
      })

      it('has the same first loss in float32, to 1e-5', () => {
        expect(ours.losses[0]).to.be.closeTo(readFixture(name).losses.float64[0]!, 1e-5)
      })

      it(`has gradients within ${ALLOWANCE} times PyTorch's own distance from float64`, () => {
        const { gradients, difference } = readFixture(name)
        expect(distances(project(problem, ours.gradients), gradients).whole).to.be.below(ALLOWANCE * difference.gradients)
      })
    })
})
