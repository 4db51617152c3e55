import { compileInPieces } from '../../compiler/compile.js'
import type { PlacedParameter, Program } from '../../compiler/program.js'
import { loadEngine } from '../../engine/contract.js'
import { loweringBackend } from '../../engine/lowering.js'
import { usableCores } from '../../engine/machine.js'
import { ClusterTraffic, type Cluster } from '../../hosts/exchange/cluster.js'
import type { LinkCosts } from '../../hosts/exchange/cost-model.js'
import { predictExchange, type ExchangePrediction, type StepShape } from '../../hosts/exchange/predict-exchange.js'
import { loadOperators } from '../../model/composed.js'
import type { ClusterSettings } from '../../options/cluster.js'
import { predictSettings, type PredictOptions } from '../../options/explain.js'
import { inTurns } from '../../turns.js'
import { explainedOperators } from './explain-step.js'
import { GPU, speedsOf, type Speeds } from './speeds.js'
import type { PredictedMode, Prediction } from './prediction.js'

const ENGINE = new URL('../../engine/native.js', import.meta.url)

/** What a message takes beside its bytes, in seconds, and what it costs its sender: a call of the transport and of the network's interface. */
const SECONDS_PER_MESSAGE = 5e-6
/** Bytes a second that the processor of a host copies and adds: those of a core that reads two numbers and writes one. */
const PROCESSOR = 8e9
const LARGEST_BATCH = 4096
/** Of a step. */
const LITTLE = 0.05

/** See `predict`. */
export async function predictStep(options: PredictOptions): Promise<Prediction> {
  const { model, batch, step: settings, cluster: machines } = predictSettings(options)
  const { threads, precision, backend: name, ...assumed } = settings
  const engine = await loadEngine(ENGINE.href)
  await loadOperators(model)
  const backend = loweringBackend(engine, name, threads)
  const program = await inTurns(compileInPieces(model, backend, { mode: 'train', batch, precision, optimiser: { momentum: 0.9 } }))
  const { hosts, gpus, gpuLink, rack } = machines
  const given = Object.fromEntries(Object.entries(assumed).filter(([, value]) => value !== undefined))
  const speeds = speedsOf(engine, threads, gpus > 0 ? { ...GPU, ...given } : assumed)
  const step = stepShape(program, speeds)
  const cluster: Cluster = { hosts, gpus, gpuLink, hostsOfRack: Math.min(rack, hosts), costs: costsOf(machines) }
  const traffic = new ClusterTraffic(cluster)
  const found = predictExchange(step, cluster, traffic)
  const learners = hosts * (gpus > 0 ? gpus : Math.max(1, Math.floor(usableCores() / threads)))
  const seconds = step.computing + step.updating
  const modes = found.map(inMilliseconds)
  return {
    model: true,
    name: model.name,
    hosts,
    gpus,
    learners,
    batch,
    parameters: program.parameters.elements,
    bytes: sum(step.buckets.map(({ bytes }) => bytes)),
    computeMilliseconds: 1000 * seconds,
    ...modes[0]!,
    samplesPerSecond: (learners * batch) / found[0]!.stepSeconds,
    efficiency: seconds / found[0]!.stepSeconds,
    leastBatch: leastBatch(step, batch, (scaled) => predictExchange(scaled, cluster, traffic)),
    modes,
    speeds
  }
}

function inMilliseconds({ mode, exchangeSeconds, stepSeconds, averagingStepSeconds, hidden }: ExchangePrediction): PredictedMode {
  return {
    mode,
    exchangeMilliseconds: 1000 * exchangeSeconds,
    stepMilliseconds: 1000 * stepSeconds,
    exchangeHidden: hidden,
    averagingStepMilliseconds: 1000 * averagingStepSeconds
  }
}

function costsOf({ hosts, gpus, rack, link, oversubscription, hub }: ClusterSettings): LinkCosts {
  // On GPU clusters the GPUs add and the network cards copy: the processor costs nothing.
  const processor = gpus > 0 ? { processor: 0 } : { processor: 1 / PROCESSOR, message: SECONDS_PER_MESSAGE }
  const across = hosts > rack ? (rack * link) / oversubscription : Infinity
  return { link, across, hub, latency: SECONDS_PER_MESSAGE, ...processor }
}

/** The time of a pass grows with the batch; that of the update does not. */
function leastBatch(step: StepShape, batch: number, predicted: (step: StepShape) => readonly ExchangePrediction[]): number | null {
  for (let tried = 1; tried <= LARGEST_BATCH; tried *= 2) {
    const times = tried / batch
    const scaled = {
      ...step,
      computing: times * step.computing,
      buckets: step.buckets.map((bucket) => ({ ...bucket, ready: times * bucket.ready }))
    }
    const { stepSeconds } = predicted(scaled)[0]!
    if (scaled.computing + scaled.updating >= (1 - LITTLE) * stepSeconds) return tried
  }
  return null
}

/** When the step has its gradients: each operator takes as long as its arithmetic, or as its reads and writes. */
function stepShape(program: Program, speeds: Speeds): StepShape {
  const { parameters } = program.parameters
  const operators = explainedOperators(program, speeds, 0)
  const secondsOf = (segment: string) => operators.filter((each) => each.segment === segment).map(({ floorSeconds }) => floorSeconds)
  const before = sum([...secondsOf('load'), ...secondsOf('forward')])
  const backward = secondsOf('backward')
  let at = before
  const ended = backward.map((seconds) => (at += seconds))
  const buckets = bucketsOf(parameters).map(({ from, until }) => {
    const last = program.segments.backward.findLastIndex(({ outputs }) =>
      outputs.some((id) => {
        if (id < 0) return false
        const { placement, bytes } = program.values[id]!
        return placement.arena === 'gradients' && placement.offset < until && placement.offset + bytes > from
      })
    )
    return { bytes: until - from, ready: last < 0 ? before : ended[last]! }
  })
  const { bytes } = program.parameters
  // Gradient, weight and momentum are read, the last two written.
  const updating = (5 * bytes) / speeds.bytesPerSecond
  return { computing: before + sum(backward), updating, buckets: buckets.toSorted((a, b) => a.ready - b.ready) }
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}

/** As the engine makes them: from the last parameter to the first, whole parameters up to a size, and large ones in pieces. */
function bucketsOf(parameters: readonly PlacedParameter[]): readonly { readonly from: number; readonly until: number }[] {
  const [least, most] = [2 ** 18, 2 ** 20]
  const buckets: { from: number; until: number }[] = []
  const last = parameters.at(-1)
  let until = last ? last.offset + last.bytes : 0
  for (const [i, { offset }] of [...parameters.entries()].toReversed()) {
    const from = i === 0 ? 0 : offset
    if (until - from < least && i > 0) continue
    for (; until - from > most; until -= most) buckets.push({ from: until - most, until })
    buckets.push({ from, until })
    until = from
  }
  return buckets
}
