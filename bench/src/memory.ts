import { explain } from './arbalest.js'
import type { Bench, BenchOptions } from './bench.js'
import { chosenCases, rateUnitOf, workloadOf, type Case } from './cases.js'
import { ArbalestError } from './errors.js'
import { trainingProgram } from './flops-per-image.js'
import type { MemoryLimit } from './internals.js'
import { startOurs, startStep, type Planner } from './ours.js'
import { gptBeyond } from './gpt-beyond.js'
import { MEMORY_PEERS, type MemoryPeer, type MemoryResult, type ResidentTold, type Told } from './memory-result.js'
import { compare } from './pairs.js'
import { pythonsWithTorch, type Python } from './python.js'
import { startFrugal, type Frugality } from './peers/pytorch.js'
import { saveResults } from './results.js'
import type { Side } from './side.js'
import { Table } from './table.js'

const PARTS = [0.75, 0.5, 0.25]
const PART = /^[1-9]\d?%$/

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

const RULES = ['geeps', 'recompute', 'move', 'without-prefetch'] as const

function isPeer(word: string): word is MemoryPeer {
  return (MEMORY_PEERS as readonly string[]).includes(word)
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
    const spill = given.find((word) => word.startsWith('/'))
    const asked = given.filter((word) => PART.test(word)).map((word) => parseFloat(word) / 100)
    const clock: Limit['clock'] = given.includes('cpu-time') ? 'cpu' : 'wall'
    const beyond = given.includes('beyond')
    const named = given.filter(isPeer)
    const wanted = (peer: MemoryPeer): boolean => named.length === 0 || named.includes(peer)
    const others = new Set([spill, 'cpu-time', 'beyond', ...named])
    const filters = given.filter((word) => !others.has(word) && !PART.test(word))
    if (clock === 'cpu' && spill !== undefined)
      throw new ArbalestError(
        'INVALID_OPTION',
        `cpu-time: received with ${spill}; leave one out: no processor works while a disk is waited for`
      )
    const pythonPeers = named.filter((peer) => peer.startsWith('pytorch'))
    if (clock === 'cpu' && pythonPeers.length > 0)
      throw new ArbalestError(
        'INVALID_OPTION',
        `cpu-time: received with ${pythonPeers.join(', ')}; leave one out: PyTorch tells seconds of a clock`
      )
    const moving = named.filter((peer) => peer === 'pytorch-saved-tensors' || (RULES as readonly string[]).includes(peer))
    if (moving.length > 0 && spill === undefined)
      throw new ArbalestError(
        'INVALID_OPTION',
        `${moving.join(', ')}: received no folder; name one on a disk, to which values may be moved`
      )
    if (beyond && spill === undefined)
      throw new ArbalestError('INVALID_OPTION', 'beyond: received no folder; name one on a disk, to which the vectors move')
    const pythons =
      clock === 'cpu' || beyond || (named.length > 0 && pythonPeers.length === 0)
        ? []
        : await pythonsWithTorch().catch((error: unknown) => {
            if (pythonPeers.length > 0) throw error
            process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
            return []
          })
    const table = new Table([24, 10, 10, 9, 9, 15, 9, 9], options.json ? null : process.stdout)
    table.row(['case', 'units/s', 'peer', 'slowdown', 'as told', 'min-max', 'MiB', 'peer'])
    const results: MemoryResult[] = []
    const words = ['resnet20', 'b32', 'f32'].map((usual, kind) => filters.find((word) => kindOf(word) === kind) ?? usual)
    if (filters.length > words.length || filters.some((word) => !words.includes(word)))
      throw new ArbalestError('INVALID_OPTION', `filters: received ${filters.join(' ')}; give a model, a batch and a precision at most`)
    const told = (result: MemoryResult | undefined): void => {
      if (!result) return
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
    if (beyond) told(await gptBeyond(spill!, options))
    for (const one of beyond ? [] : chosenCases([...words, 'k1'])) {
      const least = activationBytes(one, { activations: 0, speed: SPEED }) / activationBytes(one)
      const shares = asked.length > 0 ? asked : PARTS
      const parts = [...shares.filter((part) => part > least), ...(shares.some((part) => part <= least) ? [least] : [])]
      const limits: Limit[] = [
        ...parts.map((part) => ({ part, clock })),
        ...(spill === undefined ? [] : shares.map((part) => ({ part, spill, clock })))
      ]
      const frugalities = frugalitiesOf(spill).filter(({ name }) => wanted(`pytorch-${name}`))
      const whole = wanted('uncapped') ? await startOurs({ ...one, clock }) : undefined
      try {
        for (const limit of whole ? limits : []) told(await measure(one, whole!, limit, options))
      } finally {
        whole?.close()
      }
      for (const rule of spill === undefined ? [] : RULES.filter(wanted))
        for (const part of shares) told(await besideRule(one, part, { spill: spill!, rule }, options))
      for (const python of pythons.slice(0, 1))
        for (const frugality of frugalities) told(await besidePyTorch(one, python, frugality, spill, options))
    }
    if (options.save !== undefined) await saveResults(options.save, results)
  }
}

/** A model, a batch or a precision. */
function kindOf(word: string): 0 | 1 | 2 {
  return /^b[1-9]\d*$/.test(word) ? 1 : word === 'f32' || word === 'bf16' ? 2 : 0
}
