import { fileURLToPath } from 'node:url'
import type { BenchOptions } from './bench.js'
import type { MemoryResult, Told } from './memory-result.js'
import { compare } from './pairs.js'
import { Side } from './side.js'

/** Milliseconds that a run may take until its first steps are done. */
const WARM = 600_000

/** The limit is this part of the bytes of the parameters and of the states of AdamW. */
const PART = 0.8

function start(...limits: readonly string[]): Promise<Side> {
  return Side.start([{ program: process.execPath, args: [fileURLToPath(new URL('gpt-child.js', import.meta.url)), ...limits] }], WARM)
}

/** A GPT whose parameters and states exceed its limit, beside the same without one. */
export async function gptBeyond(spill: string, options: BenchOptions): Promise<MemoryResult> {
  const whole = await start()
  try {
    const { bytes: peerBytes, parameters } = whole.greeting as unknown as Told & { readonly parameters: number }
    const limited = await start(String(Math.floor(PART * 3 * 4 * parameters)), spill)
    try {
      const compared = await compare(limited, whole, options)
      const told = limited.greeting as unknown as Told
      return {
        bench: 'memory',
        case: 'gpt beyond',
        peer: 'uncapped',
        unit: 'tokens/s',
        ...compared,
        ...picked(told),
        peerBytes,
        slowdown: 1 / compared.ratio
      }
    } finally {
      limited.close()
    }
  } finally {
    whole.close()
  }
}

function picked({ bytes, recomputedBytes, movedBytes, predictedSlowdown }: Told): Told {
  return { bytes, recomputedBytes, movedBytes, predictedSlowdown }
}
