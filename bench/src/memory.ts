import { explain } from './arbalest.js'
import type { Bench, BenchOptions } from './bench.js'
import { chosenCases, rateUnitOf, workloadOf, type Case } from './cases.js'
import { trainingProgram } from './flops-per-image.js'
import type { MemoryLimit } from './internals.js'
import { startOurs, startStep, type Planner } from './ours.js'
import { gptBeyond } from './gpt-beyond.js'
import { MEMORY_PEERS, RULES, type MemoryPeer, type MemoryResult, type ResidentTold, type Told } from './memory-result.js'
import { asked, isPyTorch, type Asked } from './memory-words.js'
import { compare } from './pairs.js'
import { pythonsWithTorch, type Python } from './python.js'
import { startFrugal, type Frugality } from './peers/pytorch.js'
import { saveResults } from './results.js'
import type { Side } from './side.js'
import { Table } from './table.js'

const PARTS = [0.75, 0.5, 0.25]

/** Nominal: they decide what the least is, and are those that a run has for it. */
const SPEED = { flopsPerSecond: 1e11, bytesPerSecond: 1e10, cacheBytesPerSecond: 1e10, cacheBytes: 0 }

function activationBytes({ model, batch, precision }: Case, limit?: MemoryLimit): number {
  return trainingProgram(model, batch, precision, limit && { limit }).arenas.activations
}

/** A share of the activations' memory, and maybe a folder to which values may be moved. */
interface Limit {
  readonly part: number
  readonly spill?: string | undefined
  readonly clock: 'wall' | 'cpu'
}

async function measure(one: Case, whole: Side, { part, spill, clock }: Limit, options: BenchOptions): Promise<MemoryResult> {
  const peerBytes = (whole.greeting as unknown as Told).bytes
  const limit = Math.ceil(peerBytes - (1 - part) * activationBytes(one))
  const limited = await startOurs({ ...one, clock, deviceMemory: String(limit), ...(spill !== undefined && { spill }) })
  try {
    const compared = await compare(limited, whole, options)
    const { bytes, recomputedBytes, movedBytes, predictedSlowdown } = limited.greeting as unknown as Told
    return {
      bench: 'memory',
      case: `${one.model} b${one.batch} ${Math.round(100 * part)}%${spill === undefined ? '' : ' spill'}`,
      peer: 'uncapped',
      unit: clock === 'cpu' ? `${rateUnitOf(one.model)} of processor time` : rateUnitOf(one.model),
      ...compared,
      bytes,
      peerBytes,
      recomputedBytes,
      movedBytes,
      predictedSlowdown,
      slowdown: 1 / compared.ratio
    }
  } finally {
    limited.close()
  }
}

/**
 * Beside PyTorch that trains in less memory, with at most as much resident memory for the training as its process has. Undefined, and a line is printed, where no plan
 * of ours takes so little.
 */
async function besidePyTorch(
  one: Case,
  python: Python,
  frugality: Frugality,
  spill: string | undefined,
  options: BenchOptions
): Promise<MemoryResult | undefined> {
  const peer = await startFrugal(python, one, frugality)
  try {
    const { bytes: peerBytes } = peer.greeting as unknown as { readonly bytes: number }
    const name = `${one.model} b${one.batch} at its peak${spill === undefined ? '' : ' spill'}`
    const limited = await startWithin(one, peerBytes, spill).catch((error: unknown) => {
      process.stderr.write(`${name} beside ${frugality.name}: ${error instanceof Error ? error.message : String(error)}\n`)
    })
    if (!limited) return undefined
    try {
      const { residentBytes, recomputedBytes, movedBytes, predictedSlowdown } = limited.greeting as unknown as ResidentTold
      const compared = await compare(limited, peer, options)
      return {
        bench: 'memory',
        case: name,
        peer: `pytorch-${frugality.name}`,
        unit: rateUnitOf(one.model),
        ...compared,
        bytes: residentBytes,
        peerBytes,
        recomputedBytes,
        movedBytes,
        predictedSlowdown,
        slowdown: 1 / compared.ratio
      }
    } finally {
      limited.close()
    }
  } finally {
    peer.close()
  }
}

/** Of a process beside its device's memory: the heaps of JavaScript, threads, machine code. */
const BESIDE_DEVICE = 112 * 2 ** 20

/** Processes that are started, each within a lower limit than the one before. */
const ATTEMPTS = 4

/**
 * A learner whose training makes at most `most` bytes resident. Its limit also counts what is not resident, or what both sides have: the memory of the evaluator, which never runs here,
 * and the samples. The limit is higher by both, and lower by what the last attempt had beyond `most`: how much the heaps of JavaScript take differs from process to process.
 */
async function startWithin(one: Case, most: number, spill: string | undefined): Promise<Side> {
  const { sample, count } = workloadOf(one.model)
  const samples = count * (sample.reduce((product, extent) => product * extent, 1) + 4)
  const { evaluation } = (
    await explain({
      model: one.model,
      batch: one.batch,
      learners: 1,
      precision: one.precision,
      input: sample,
      classes: workloadOf(one.model).classes
    })
  ).memory.shared
  let limit = most + samples + evaluation - BESIDE_DEVICE
  for (let attempt = 1; ; attempt += 1) {
    const side = await startOurs({ ...one, deviceMemory: String(limit), ...(spill !== undefined && { spill }) })
    const beyond = (side.greeting as unknown as ResidentTold).residentBytes - most
    if (beyond <= 0) return side
    side.close()
    if (attempt === ATTEMPTS) throw new Error(`after ${ATTEMPTS} attempts our process has ${mebibytes(beyond)} MiB more than the peer`)
    limit -= beyond
  }
}

/**
 * Training steps alone within a part of the activations' memory, beside the same whose plan another rule has made: GeePS's, or our search by one way alone. What fetching ahead gains is told by
 * plans that only move. Undefined, and a line is printed, where that rule refuses the limit.
 */
async function besideRule(
  one: Case,
  part: number,
  { spill, rule }: { readonly spill: string; readonly rule: Exclude<Planner, 'ours'> },
  options: BenchOptions
): Promise<MemoryResult | undefined> {
  const limit = { ...one, spill, activations: Math.ceil(part * activationBytes(one)) }
  const planner = rule === 'without-prefetch' ? 'move' : 'ours'
  const name = `${one.model} b${one.batch} ${Math.round(100 * part)}% ${planner === 'move' ? 'move' : 'spill'}`
  const peer = await startStep(limit, rule)
  try {
    if (peer.greeting['refused'] === true) {
      process.stderr.write(`${name}: ${rule} refuses it\n`)
      return undefined
    }
    const ours = await startStep(limit, planner)
    try {
      const compared = await compare(ours, peer, options)
      const { bytes: peerBytes } = peer.greeting as unknown as Told
      const told = ours.greeting as unknown as Told
      return {
        bench: 'memory',
        case: name,
        peer: rule,
        unit: rateUnitOf(one.model),
        ...compared,
        bytes: told.bytes,
        peerBytes,
        recomputedBytes: told.recomputedBytes,
        movedBytes: told.movedBytes,
        predictedSlowdown: told.predictedSlowdown,
        slowdown: 1 / compared.ratio
      }
    } finally {
      ours.close()
    }
  } finally {
    peer.close()
  }
}

/** Files need a folder. */
function frugalitiesOf(folder: string | undefined): readonly Frugality[] {
  return [{ name: 'checkpoint' }, { name: 'accumulation' }, ...(folder === undefined ? [] : [{ name: 'saved-tensors', folder } as const])]
}

const mebibytes = (bytes: number): string => (bytes / 2 ** 20).toFixed(0)

/** Images per second of a learner against the memory that it takes. */
export const memory: Bench = {
  summary:
    'images/s against bytes: a learner within limits of memory beside one without, beside the rule of GeePS, and beside PyTorch that checkpoints, accumulates or saves tensors to files',
  filters: [
    'default: resnet20 b32 f32',
    'models, b32 (batch), f32 or bf16',
    `peers, by name: ${MEMORY_PEERS.join(', ')}; all where none is given`,
    '50%: of the activations; 75%, 50% and 25%, or the least, where none is given',
    'cpu-time: seconds that processors work, not those of a clock; for a machine that others use too, and without PyTorch',
    '/a/folder: the same once more, where values may be moved there',
    'beyond: with /a/folder, a GPT whose parameters and states of AdamW exceed the limit, beside one without, in tokens/s; nothing else'
  ],
  takes: ['pairs', 'seconds', 'save'],
  async run(given, options) {
    const wanted = asked(given)
    const pythons = wantsPyTorch(wanted) ? await pythonsOf(wanted) : []
    const table = new Table([24, 10, 10, 9, 9, 15, 9, 9], options.json ? null : process.stdout)
    table.row(['case', 'units/s', 'peer', 'slowdown', 'as told', 'min-max', 'MiB', 'peer'])
    const results: MemoryResult[] = []
    for await (const result of wanted.beyond ? [await gptBeyond(wanted.spill!, options)] : resultsOf(wanted, pythons[0], options)) {
      results.push(result)
      if (options.json) process.stdout.write(`${JSON.stringify(result)}\n`)
      table.row([
        result.case,
        result.value.toFixed(1),
        result.peerValue.toFixed(1),
        result.slowdown.toFixed(2),
        result.predictedSlowdown.toFixed(2),
        `${(1 / result.max).toFixed(2)}-${(1 / result.min).toFixed(2)}`,
        mebibytes(result.bytes),
        mebibytes(result.peerBytes)
      ])
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}

function wantsPyTorch({ peers, clock, beyond }: Asked): boolean {
  return clock === 'wall' && !beyond && (peers.length === 0 || peers.some(isPyTorch))
}

/** Where no Python has PyTorch, its peers are left out, with a line that says so, unless they are named. */
async function pythonsOf({ peers }: Asked): Promise<readonly Python[]> {
  return pythonsWithTorch().catch((error: unknown) => {
    if (peers.some(isPyTorch)) throw error
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
    return []
  })
}

/** Beside a learner without a limit, then beside other rules on our engine, then beside PyTorch. */
async function* resultsOf(wanted: Asked, python: Python | undefined, options: BenchOptions): AsyncGenerator<MemoryResult> {
  const { words, spill, clock } = wanted
  const isWanted = (peer: MemoryPeer): boolean => wanted.peers.length === 0 || wanted.peers.includes(peer)
  const shares = wanted.parts.length > 0 ? wanted.parts : PARTS
  for (const one of chosenCases([...words, 'k1'])) {
    if (isWanted('uncapped')) {
      const whole = await startOurs({ ...one, clock })
      try {
        for (const limit of limitsOf(one, shares, wanted)) yield await measure(one, whole, limit, options)
      } finally {
        whole.close()
      }
    }
    if (spill !== undefined)
      for (const rule of RULES.filter(isWanted)) {
        for (const part of shares) {
          const result = await besideRule(one, part, { spill, rule }, options)
          if (result) yield result
        }
      }
    if (python === undefined) continue
    for (const frugality of frugalitiesOf(spill).filter(({ name }) => isWanted(`pytorch-${name}`))) {
      const result = await besidePyTorch(one, python, frugality, spill, options)
      if (result) yield result
    }
  }
}

/** The shares that recomputing reaches; the least that it reaches replaces those below. With a folder to spill to, all shares once more. */
function limitsOf(one: Case, shares: readonly number[], { spill, clock }: Asked): readonly Limit[] {
  const least = activationBytes(one, { activations: 0, speed: SPEED }) / activationBytes(one)
  const parts = [...shares.filter((part) => part > least), ...(shares.some((part) => part <= least) ? [least] : [])]
  return [...parts.map((part) => ({ part, clock })), ...(spill === undefined ? [] : shares.map((part) => ({ part, spill, clock })))]
}
