import { ArbalestError, type Job } from 'arbalest'

/**
 * Halves the learning rate of a run whenever its loss has stopped falling: when the mean of a `window` of rounds is not lower than the lowest mean so far by
 * the share `margin`. Returns the rounds from which a halved rate holds.
 */
export async function halveOnPlateau({ actors: { synchroniser } }: Job, { window = 50, margin = 0.02 } = {}): Promise<number[]> {
  const halved: number[] = []
  let losses: number[] = []
  let lowest = Infinity
  const halve = () => synchroniser.ask.set({ learningRate: { factor: 0.5 } }).then(({ round }) => [round], noneIfEnded)
  for await (const { round, loss } of synchroniser.rounds()) {
    // Rounds that were trained before the new rate held say nothing about it.
    if (round < (halved.at(-1) ?? 0)) continue
    losses.push(loss)
    if (losses.length < window) continue
    const mean = losses.reduce((sum, each) => sum + each, 0) / window
    losses = []
    if (mean > lowest * (1 - margin)) halved.push(...(await halve()))
    lowest = Math.min(lowest, mean)
  }
  return halved
}

/** The run may end before the change is made. */
function noneIfEnded(error: unknown): number[] {
  if (error instanceof ArbalestError && error.code === 'ACTOR_GONE') return []
  throw error
}
