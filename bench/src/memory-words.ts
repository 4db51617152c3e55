import { ArbalestError } from './errors.js'
import { MEMORY_PEERS, RULES, type MemoryPeer } from './memory-result.js'

/** What a call of the bench asks for. */
export interface Asked {
  /** A model, a batch and a precision. */
  readonly words: readonly string[]
  /** Shares of the activations' memory, from 0 to 1; none if none is given. */
  readonly parts: readonly number[]
  /** The peers that are named; none if none is. */
  readonly peers: readonly MemoryPeer[]
  /** The folder to which values may be moved. */
  readonly spill: string | undefined
  readonly clock: 'wall' | 'cpu'
  /** A GPT that exceeds the limit, and nothing else. */
  readonly beyond: boolean
}

const PART = /^[1-9]\d?%$/

/** Throws INVALID_OPTION for words that exclude each other, or lack the folder that they need. */
export function asked(given: readonly string[]): Asked {
  const spill = given.find((word) => word.startsWith('/'))
  const clock = given.includes('cpu-time') ? 'cpu' : 'wall'
  const beyond = given.includes('beyond')
  const peers = given.filter(isPeer)
  if (clock === 'cpu' && spill !== undefined)
    throw refusal(`cpu-time: received with ${spill}; leave one out: no processor works while a disk is waited for`)
  const python = peers.filter(isPyTorch)
  if (clock === 'cpu' && python.length > 0)
    throw refusal(`cpu-time: received with ${python.join(', ')}; leave one out: PyTorch tells seconds of a clock`)
  const moving = peers.filter((peer) => peer === 'pytorch-saved-tensors' || RULES.some((rule) => rule === peer))
  if (moving.length > 0 && spill === undefined)
    throw refusal(`${moving.join(', ')}: received no folder; name one on a disk, to which values may be moved`)
  if (beyond && spill === undefined) throw refusal('beyond: received no folder; name one on a disk, to which the vectors move')
  const others = new Set([spill, 'cpu-time', 'beyond', ...peers])
  const left = given.filter((word) => !others.has(word) && !PART.test(word))
  const words = ['resnet20', 'b32', 'f32'].map((usual, kind) => left.find((word) => kindOf(word) === kind) ?? usual)
  if (left.length > words.length || left.some((word) => !words.includes(word)))
    throw refusal(`filters: received ${left.join(' ')}; give a model, a batch and a precision at most`)
  return { words, parts: given.filter((word) => PART.test(word)).map((word) => parseFloat(word) / 100), peers, spill, clock, beyond }
}

export function isPyTorch(peer: MemoryPeer): boolean {
  return peer.startsWith('pytorch')
}

function isPeer(word: string): word is MemoryPeer {
  return (MEMORY_PEERS as readonly string[]).includes(word)
}

/** A model, a batch or a precision. */
function kindOf(word: string): 0 | 1 | 2 {
  return /^b[1-9]\d*$/.test(word) ? 1 : word === 'f32' || word === 'bf16' ? 2 : 0
}

function refusal(message: string): ArbalestError {
  return new ArbalestError('INVALID_OPTION', message)
}
