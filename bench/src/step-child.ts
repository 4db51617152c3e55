import { answerWindows, type Window } from './answer-windows.js'
import { unitsOf, workloadOf, type CasePrecision } from './cases.js'
import { geepsRule } from './geeps.js'
import { trainingProgram } from './flops-per-image.js'
import {
  engine,
  initialParameters,
  loweringBackend,
  modelNamed,
  predictionGraph,
  restorationOf,
  runSpeeds,
  transferSpeed,
  type MemoryLimit,
  type Program
} from './internals.js'
import { randomDataset } from './random-dataset.js'

// Runs a training step alone, within a limit of bytes for its activations. Our planner chooses what is computed again and what moves to a folder, by both ways or by one alone, with or without fetching ahead, or the rule of GeePS does.
const [model = '', batch = '', precision = '', threads = '', activations = '', spill = '', planner = ''] = process.argv.slice(2)
const target = { backend: 'cpu', threads: Number(threads), spill } as const
const speed = runSpeeds(engine, target)
const transfers = transferSpeed(engine, target, 1)
const only =
  planner === 'recompute' || planner === 'move'
    ? ({ only: planner } as const)
    : planner === 'without-prefetch'
      ? ({ only: 'move', prefetch: false } as const)
      : {}
const rule = planner === 'geeps' ? { rule: geepsRule } : {}
const limit: MemoryLimit = { activations: Number(activations), speed, transfers, ...only, ...rule }
const program = await compiled()
const restoration = restorationOf(program, { speed, transfers, updateBytes: 0 })

const workload = workloadOf(model)
const { perSample } = unitsOf(model)
const { train: samples } = randomDataset(workload)
const replica = engine.createReplica({
  backend: 'cpu',
  layout: program.parameters,
  threads: target.threads,
  seed: 1,
  tier: { folder: spill }
})
const slot = engine.bind(replica, engine.createProgram(program), engine.createDataset(samples))
const graph = predictionGraph(modelNamed(model, { input: workload.sample, classes: workload.classes }))
engine.writeVector(replica, 'weights', initialParameters(graph, 1))

/** Where the limit is refused, the greeting says so, and no window has work. */
async function compiled(): Promise<Program> {
  try {
    return trainingProgram(model, Number(batch), precision as CasePrecision, {
      backend: loweringBackend(engine, 'cpu', target.threads),
      limit
    })
  } catch (error) {
    if ((error as { code?: unknown }).code !== 'OUT_OF_MEMORY') throw error
    await answerWindows({ refused: true }, () => ({ work: 0, seconds: 1 }))
    process.exit()
  }
}

let position = 0
function run(seconds: number): Window {
  const began = performance.now()
  let steps = 0
  while (performance.now() - began < 1000 * seconds) {
    steps += engine.run(replica, slot, { steps: 1, milliseconds: 60_000, learningRate: 0, position }).steps
    position = (position + Number(batch)) % samples.count
  }
  return { work: steps * Number(batch) * perSample, seconds: (performance.now() - began) / 1000 }
}

run(0.1)
await answerWindows({ bytes: program.arenas.activations, ...restoration }, run)
