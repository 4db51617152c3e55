import type { Allowance } from '../gpu/allowance.js'
import { ArbalestError } from '../errors.js'
import { CONTESTANTS, type Contestant, type Journal } from './journal.js'
import type { RunResult } from './run.js'

/** A warm process that trains when it is asked to. */
export interface Runner {
  run(seed: number): Promise<RunResult>
  close(): void
}

export interface ContestOptions {
  readonly journal: Journal
  readonly runs: number
  /** How each side is started; a side that is missing takes no part. */
  readonly starts: Partial<Readonly<Record<Contestant, () => Promise<Runner>>>>
  readonly allowance: Allowance
  /** Called after each run. */
  readonly onRun: (contestant: Contestant, seed: number, finding: RunResult | { readonly failure: string }) => void
}

/** Makes the runs that the journal does not have: seed by seed, the sides in turns. A run that fails is noted, and its side is started anew. Throws OutOfTime. */
export async function contest({ journal, runs, starts, allowance, onRun }: ContestOptions): Promise<void> {
  const warm = new Map<Contestant, Runner>()
  const longest = new Map<Contestant, number>()
  try {
    for (let seed = 1; seed <= runs; seed++) {
      for (const contestant of CONTESTANTS) {
        const start = starts[contestant]
        if (!start || !journal.isMissing(contestant, seed)) continue
        let begun = performance.now()
        allowance.begin(longest.get(contestant) ?? 0)
        try {
          const runner = warm.get(contestant) ?? (await start())
          warm.set(contestant, runner)
          // A start is made once.
          begun = performance.now()
          const result = await runner.run(seed)
          journal.note(contestant, seed, result)
          onRun(contestant, seed, result)
        } catch (error) {
          const failure = error instanceof Error ? error.message : String(error)
          warm.get(contestant)?.close()
          warm.delete(contestant)
          journal.note(contestant, seed, { failure })
          onRun(contestant, seed, { failure })
        }
        longest.set(contestant, Math.max(longest.get(contestant) ?? 0, (performance.now() - begun) / 1000))
      }
    }
  } finally {
    for (const runner of warm.values()) runner.close()
  }
}

/** A run's result as a process tells it. Throws INTERNAL for a line that is none. */
export function resultIn(answer: Readonly<Record<string, unknown>>): RunResult {
  for (const name of ['seconds', 'wallSeconds', 'accuracy', 'plainAccuracy']) {
    const value = answer[name]
    if (typeof value !== 'number' || !Number.isFinite(value))
      throw new ArbalestError('INTERNAL', `${name}: received ${JSON.stringify(answer)}; a run's line has a number there`)
  }
  return answer as unknown as RunResult
}
