import { expect } from 'chai'
import { readdir } from 'node:fs/promises'
import { request } from 'node:http'
import { train } from '../../src/run/train.js'
import { JobsWatch } from '../../src/dashboard/jobs-watch.js'
import { MetricsServer } from '../../src/dashboard/metrics-server.js'
import type { EvaluatedEvent } from '../../src/observe/events.js'
import { Folder } from '../data/support/files.js'
import { freePort } from '../support/free-port.js'
import { rejection } from '../support/rejection.js'
import { BEGAN, newBoard, progressAt, sourceOf, startedWith } from './support/board.js'

interface Sample {
  readonly name: string
  readonly labels: Readonly<Record<string, string>>
  readonly value: number
}

/** The samples of Prometheus' text format; a line that is none fails the test. */
function samplesIn(text: string): Sample[] {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return lines.map((line) => {
    const [, name, labels = '', value] = /^([a-z_][a-z0-9_]*)(?:\{(.*)\})? (\S+)$/.exec(line)!
    const pairs = [...labels.matchAll(/(\w+)="((?:[^"\\]|\\.)*)"/g)].map((match) => [match[1]!, match[2]!])
    return { name: name!, labels: Object.fromEntries(pairs) as Record<string, string>, value: Number(value) }
  })
}

function statusOf(url: string, options: object): Promise<number> {
  return new Promise((resolve, reject) => {
    request(url, { agent: false, ...options }, (response) => resolve(response.resume().statusCode!))
      .on('error', reject)
      .end()
  })
}

describe('the metrics of a run', () => {
  it('are those that the page shows, in the text format of Prometheus', async () => {
    const board = newBoard('a "run"')
    board.take(startedWith(2), BEGAN)
    board.take(progressAt(20, 0.5), BEGAN + 1)
    board.take({ event: 'evaluated', iteration: 20, epoch: 1, testLoss: 0.4, testAccuracy: 0.75, seconds: 1 }, BEGAN + 2)
    const server = await MetricsServer.open(sourceOf(board), { port: 0 })
    const response = await fetch(server.url)
    expect(response.headers.get('content-type')).to.match(/^text\/plain; version=0\.0\.4/)
    const samples = samplesIn(await response.text())
    const valueOf = (name: string) => samples.find((sample) => sample.name === name)?.value
    expect(valueOf('arbalest_loss')).to.equal(0.5)
    expect(valueOf('arbalest_iterations')).to.equal(20)
    expect(valueOf('arbalest_test_accuracy_ratio')).to.equal(0.75)
    expect(valueOf('arbalest_device_memory_bytes')).to.equal(2 * 7e6 + 36e6)
    expect(samples[0]!.labels).to.deep.equal({ run: 'a \\"run\\"', model: 'lenet', data: 'digits' })
    server.close()
  })

  it('are those of what a model predicts: classes, texts or numbers', async () => {
    const evaluated = { event: 'evaluated', iteration: 20, epoch: 1, testLoss: 0.4, seconds: 1 } as const
    const told = async (measured: Partial<EvaluatedEvent>) => {
      const board = newBoard()
      board.take({ ...evaluated, testAccuracy: null, ...measured }, BEGAN)
      const server = await MetricsServer.open(sourceOf(board), { port: 0 })
      const samples = samplesIn(await (await fetch(server.url)).text())
      server.close()
      return Object.fromEntries(samples.filter(({ name }) => name.startsWith('arbalest_test_')).map(({ name, value }) => [name, value]))
    }
    expect(await told({ testAccuracy: 0.5, testTopK: 0.9, testPerplexity: 1.5 })).to.deep.equal({
      arbalest_test_loss: 0.4,
      arbalest_test_accuracy_ratio: 0.5,
      arbalest_test_top_k_accuracy_ratio: 0.9,
      arbalest_test_perplexity: 1.5
    })
    expect(await told({ testMetrics: { r2: 0.99, mae: 12 } })).to.deep.equal({
      arbalest_test_loss: 0.4,
      arbalest_test_r2: 0.99,
      arbalest_test_mean_absolute_error: 12
    })
  })

  it('are told to no web page, under no other name and on no other path', async () => {
    const server = await MetricsServer.open(sourceOf(newBoard()), { port: 0 })
    const wrong = [
      { headers: { Host: 'evil.example' } },
      { headers: { Origin: 'https://evil.example' } },
      { headers: { 'Sec-Fetch-Site': 'cross-site' } }
    ]
    for (const options of wrong) expect(await statusOf(server.url, options)).to.equal(403)
    expect(await statusOf(server.url, { method: 'POST' })).to.equal(405)
    expect(await statusOf(new URL('/', server.url).href, {})).to.equal(404)
    expect(await statusOf(server.url, {})).to.equal(200)
    server.close()
  })

  it('have the learners of a run that trains, and end with it', async () => {
    const watch = await JobsWatch.open({ metricsPort: 0 })
    const url = watch.metricsUrl!
    const taken = Number(new URL(url).port)
    const refused = train({ model: 'mlp', data: 'digits', learners: 1, until: { steps: 1 }, metricsPort: taken })
    expect(await rejection(refused.finished)).to.include({ code: 'INVALID_OPTION' })
    const job = train({ model: 'mlp', data: 'digits', learners: 2, until: { epochs: 100_000 } })
    watch.add(job, { id: '20261124-000000-0000', name: 'mlp on digits' }, { event: 'run', options: {}, versions: {} })
    let samples: Sample[]
    do samples = samplesIn(await (await fetch(url)).text())
    while (!samples.some(({ name }) => name === 'arbalest_learner_distance'))
    const places = samples.filter(({ name }) => name === 'arbalest_learner_state').map(({ labels }) => labels['place'])
    expect(places).to.deep.equal(['0', '1'])
    job.stop()
    await job.finished
    expect(await rejection(fetch(url))).to.be.instanceOf(Error)
  }).timeout(60_000)

  it('call the run as its log does', async () => {
    await using folder = await Folder.make()
    const metricsPort = await freePort()
    const job = train({ model: 'mlp', data: 'digits', learners: 1, until: { epochs: 100_000 }, metricsPort, logDir: folder.path })
    await job.dashboard
    const samples = samplesIn(await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text())
    job.stop()
    await job.finished
    const [log] = await readdir(folder.path)
    expect(`${samples.find(({ name }) => name === 'arbalest_learners')!.labels['run']}.jsonl`).to.equal(log)
  }).timeout(60_000)
})
