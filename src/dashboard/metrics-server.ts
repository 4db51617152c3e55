import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Gauge, Registry } from 'prom-client'
import type { DashboardSource } from './dashboard.js'
import { hostsOf } from './guard.js'
import { hardened, LIMITS, listening, portOf, refuse } from './page-server.js'
import type { RunFacts } from './page/wire.js'
import type { RunBoard } from './run-board.js'

type Fact = { readonly [Key in keyof RunFacts]: RunFacts[Key] extends number | null ? Key : never }[keyof RunFacts]

/** The numbers of a run as Prometheus has them: base units, and ratios from 0 to 1. */
const RUN_METRICS: readonly (readonly [name: string, help: string, fact: Fact])[] = [
  ['arbalest_iterations', 'Iterations that are done.', 'iteration'],
  ['arbalest_iterations_planned', 'Iterations that are planned.', 'iterations'],
  ['arbalest_rounds', 'Rounds that are whole.', 'round'],
  ['arbalest_epochs', 'Passes over the training set, with the fraction of the present one.', 'epoch'],
  ['arbalest_training_seconds', 'Seconds of training, without evaluation and set-up.', 'seconds'],
  ['arbalest_loss', 'Mean training loss of the last iterations.', 'loss'],
  ['arbalest_learning_rate', 'Learning rate of the last iteration.', 'learningRate'],
  ['arbalest_images_per_second', 'Samples trained a second.', 'imagesPerSecond'],
  ['arbalest_data_wait_ratio', 'Share of their time for which learners waited for data.', 'dataWait'],
  ['arbalest_test_loss', 'Loss of the central model on the test set, when it was measured last.', 'testLoss'],
  ['arbalest_test_accuracy_ratio', 'Share of right answers of the central model on the test set.', 'testAccuracy'],
  ['arbalest_test_top_k_accuracy_ratio', 'Share of samples whose class is among the likeliest, where the run counts them.', 'testTopK'],
  ['arbalest_test_perplexity', 'Of models of texts: e to the power of the test loss.', 'testPerplexity'],
  ['arbalest_test_r2', "Of models that predict numbers: share of the targets' variance that is explained.", 'testR2'],
  ['arbalest_test_mean_absolute_error', 'Of models that predict numbers, in the unit of the targets.', 'testMae'],
  ['arbalest_learners', 'Learners that train.', 'learners'],
  ['arbalest_learner_deaths', 'Learners that have died.', 'deaths'],
  ['arbalest_hosts', 'Processes that train together.', 'hosts']
]

/** By place of the population: the column of its lane. */
const PLACE_METRICS = [
  ['arbalest_learner_distance', 'Distance of the weights from the central model.', 5],
  ['arbalest_learner_waiting_ratio', 'Share of its time for which the learner waited for others.', 3],
  ['arbalest_learner_averaging_ratio', 'Share of its time that averaging took.', 4],
  ['arbalest_learner_state', '0 trains, 1 rests, 2 starts, 3 vacant, 4 dead.', 2]
] as const

const RUN = ['run', 'model', 'data'] as const

/** Answers Prometheus on 127.0.0.1 with the same numbers that the page shows. Nothing is looked at between two of its questions. */
export class MetricsServer {
  readonly #server: Server
  readonly #registry = new Registry()

  private constructor(source: DashboardSource) {
    this.#register(source)
    this.#server = hardened(createServer(LIMITS, (request, response) => void this.#answer(source, request, response)))
  }

  /** Throws INVALID_OPTION if the port cannot be had. */
  static async open(source: DashboardSource, { port }: { readonly port: number }): Promise<MetricsServer> {
    const server = new MetricsServer(source)
    await listening(server.#server, port, 'metricsPort')
    return server
  }

  get url(): string {
    return `http://127.0.0.1:${portOf(this.#server)}/metrics`
  }

  close(): void {
    this.#server.close()
    this.#server.closeAllConnections()
  }

  async #answer(source: DashboardSource, { method, url, headers }: IncomingMessage, response: ServerResponse): Promise<void> {
    if (!hostsOf(portOf(this.#server)).includes(headers.host ?? '')) return refuse(response, 403)
    // Refuses requests from web pages: the numbers are for Prometheus.
    if (headers.origin !== undefined || (headers['sec-fetch-site'] ?? 'none') !== 'none') return refuse(response, 403)
    if (url !== '/metrics') return refuse(response, 404)
    if (method !== 'GET') return refuse(response, 405)
    await source.look().catch(() => {})
    const text = await this.#registry.metrics()
    response.writeHead(200, { 'Content-Type': this.#registry.contentType, 'Cache-Control': 'no-store' }).end(text)
  }

  #register(source: DashboardSource): void {
    const add = (name: string, help: string, labels: readonly string[], set: (gauge: Gauge, board: RunBoard) => void) =>
      this.#registry.registerMetric(gauge(name, help, labels, (one) => source.boards.forEach((board) => set(one, board))))
    for (const [name, help, fact] of RUN_METRICS)
      add(name, help, RUN, (one, board) => {
        const value = board.facts[fact]
        if (value !== null) one.set(labelsOf(board), value)
      })
    for (const [name, help, column] of PLACE_METRICS)
      add(name, help, [...RUN, 'place'], (one, board) => {
        for (let place = 0; place < board.facts.learners; place++) {
          const value = board.place(place)?.[column] ?? null
          if (value !== null) one.set({ ...labelsOf(board), place }, value)
        }
      })
    add(
      'arbalest_device_memory_bytes',
      'Bytes that the learners of a device hold, with what they share.',
      [...RUN, 'device'],
      (one, board) => {
        for (const [device, { learners, learnerBytes, sharedBytes }] of (board.facts.memory?.devices ?? []).entries())
          one.set({ ...labelsOf(board), device }, learners * learnerBytes + sharedBytes)
      }
    )
    const resident = gauge('process_resident_memory_bytes', 'Resident memory of the process.', [], (one) =>
      one.set(process.memoryUsage.rss())
    )
    this.#registry.registerMetric(resident)
  }
}

/** A number that is set anew for each question. */
function gauge(name: string, help: string, labelNames: readonly string[], set: (one: Gauge) => void): Gauge {
  return new Gauge({
    name,
    help,
    labelNames,
    registers: [],
    collect() {
      this.reset()
      set(this)
    }
  })
}

function labelsOf({ id, facts: { model, data } }: RunBoard): Record<(typeof RUN)[number], string> {
  return { run: id, model, data }
}
