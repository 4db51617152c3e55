import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { lenet, logisticRegression, train, type Dataset, type FinishedEvent } from 'arbalest'
import type { Distillation } from './learner.js'

/** Trains a LeNet, then a linear model with the LeNet as its teacher. */
export async function distil(data: Dataset, { epochs = 2 } = {}): Promise<{ teacher: FinishedEvent; student: FinishedEvent }> {
  const shape = { input: data.sample, classes: data.classes }
  const folder = await mkdtemp(join(tmpdir(), 'distillation-'))
  try {
    const teaching = train({ model: lenet(shape), data, until: { epochs } })
    const teacher = await teaching.finished
    const weights = join(folder, 'teacher.safetensors')
    await teaching.model.save(weights)
    const learning = train({
      model: logisticRegression(shape),
      data,
      until: { epochs },
      learner: new URL('./learner.js', import.meta.url),
      learnerOptions: { teacher: lenet(shape), weights, temperature: 3, share: 0.7 } satisfies Distillation
    })
    return { teacher, student: await learning.finished }
  } finally {
    await rm(folder, { recursive: true })
  }
}
