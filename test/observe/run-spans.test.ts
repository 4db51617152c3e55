import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { context, SpanStatusCode, trace, type HrTime } from '@opentelemetry/api'
import { InMemorySpanExporter, NodeTracerProvider, SimpleSpanProcessor, type ReadableSpan } from '@opentelemetry/sdk-trace-node'
import { expect } from 'chai'
import { openDataset, train, type Dataset, type TrainOptions } from '../../src/index.js'
import { rejection } from '../support/rejection.js'

const milliseconds = ([seconds, nanoseconds]: HrTime) => 1000 * seconds + nanoseconds / 1e6
const named = (spans: readonly ReadableSpan[], name: string) => spans.filter((span) => span.name === name)

describe('the spans of a run', function () {
  this.timeout(60_000)
  const exporter = new InMemorySpanExporter()
  const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
  let data: Dataset
  let folder: string
  before(async () => {
    provider.register()
    data = await openDataset('digits', { samples: 500 })
    folder = mkdtempSync(join(tmpdir(), 'spans-'))
  })
  beforeEach(() => exporter.reset())
  after(async () => {
    rmSync(folder, { recursive: true })
    await provider.shutdown()
    trace.disable()
    context.disable()
  })

  const run = (options: Partial<TrainOptions> = {}) =>
    train({ model: 'logistic-regression', data, learners: 2, batch: 8, until: { steps: 400 }, seed: 1, ...options }).finished

  it('are a span of the run and, in it, those of evaluations, checkpoints and rounds', async () => {
    const tracer = trace.getTracer('test')
    const before = Date.now()
    const finished = await tracer.startActiveSpan('around', async (around) => {
      const end = await run({ model: 'lenet', checkpoint: { dir: folder, period: 100 }, evaluateEvery: 4 })
      around.end()
      return end
    })
    const spans = exporter.getFinishedSpans()
    const [whole, ...others] = named(spans, 'arbalest.run')
    expect(others).to.deep.equal([])
    expect(whole!.instrumentationScope.name).to.equal('arbalest')
    expect(whole!.parentSpanContext?.spanId).to.equal(named(spans, 'around')[0]!.spanContext().spanId)
    expect(whole!.status.code).to.equal(SpanStatusCode.UNSET)
    expect(whole!.attributes).to.include({
      'arbalest.model': 'lenet',
      'arbalest.learners': 2,
      'arbalest.reason': 'completed',
      'arbalest.test_accuracy': finished.testAccuracy,
      'arbalest.weights_sha256': finished.weightsSha256
    })

    for (const name of ['arbalest.evaluation', 'arbalest.checkpoint', 'arbalest.round']) {
      const found = named(spans, name)
      expect(found.length, name).to.be.at.least(2)
      for (const span of found) {
        expect(span.parentSpanContext?.spanId, name).to.equal(whole!.spanContext().spanId)
        const [start, end] = [milliseconds(span.startTime), milliseconds(span.endTime)]
        expect(start, name).to.be.within(before - 5, end)
        expect(end, name).to.be.at.most(Date.now() + 5)
      }
    }
    const evaluations = named(spans, 'arbalest.evaluation')
    expect(evaluations.at(-1)!.attributes['arbalest.test_accuracy']).to.equal(finished.testAccuracy)
    const rounds = named(spans, 'arbalest.round').map(({ attributes }) => attributes)
    for (const attributes of rounds) {
      expect(attributes['arbalest.learners']).to.equal(2)
      expect(attributes['arbalest.round']).to.be.within(0, 399)
      expect(attributes['arbalest.loss']).to.be.above(0)
    }
    expect(new Set(rounds.map((attributes) => attributes['arbalest.round'])).size).to.equal(rounds.length)
  })

  it('have the fields in the fields of events: the metrics of an evaluation, and what has changed the run', async () => {
    const interventions = [{ kind: 'set', round: 100, iteration: 100, learningRate: { factor: 0.5 } }] as const
    const { testMetrics } = await run({ metrics: ['f1', 'confusion'], interventions })
    const spans = exporter.getFinishedSpans()
    const [whole] = named(spans, 'arbalest.run')
    expect(whole!.attributes['arbalest.test_metrics.f1']).to.equal(testMetrics!.f1)
    expect(named(spans, 'arbalest.evaluation').at(-1)!.attributes['arbalest.test_metrics.f1']).to.equal(testMetrics!.f1)
    const [changed] = whole!.events.filter(({ name }) => name === 'intervened')
    expect(changed!.attributes).to.include({
      'arbalest.intervention.kind': 'set',
      'arbalest.intervention.round': 100,
      'arbalest.intervention.learning_rate.factor': 0.5
    })
  })

  it('tell of a run that fails, and of what it did before', async () => {
    const onStep = ({ iteration }: { readonly iteration: number }) => {
      if (iteration === 100) throw new Error('enough')
    }
    await rejection(run({ onStep }))
    const [whole] = named(exporter.getFinishedSpans(), 'arbalest.run')
    expect(whole!.status).to.deep.equal({ code: SpanStatusCode.ERROR, message: 'enough' })
    expect(whole!.events.map(({ name }) => name)).to.include('exception')
  })
})

describe('a run of a program without a tracer provider', function () {
  this.timeout(60_000)
  it('loads nothing of OpenTelemetry', () => {
    const program = `
      import { createRequire } from 'node:module'
      import { train } from ${JSON.stringify(new URL('../../src/index.js', import.meta.url).href)}
      const loaded = () => Object.keys(createRequire(import.meta.url).cache).filter((file) => file.includes('@opentelemetry')).length
      await train({ model: 'logistic-regression', data: 'digits', until: { steps: 5 } }).finished
      const without = loaded()
      await import(${JSON.stringify(import.meta.resolve('@opentelemetry/api'))})
      console.log(JSON.stringify({ without, with: loaded() }))`
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' })
    expect(stderr).to.equal('')
    const counts = JSON.parse(stdout) as { readonly without: number; readonly with: number }
    expect(counts.without).to.equal(0)
    // The count sees what is loaded.
    expect(counts.with).to.be.above(0)
  })
})
