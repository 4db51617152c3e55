import { expect } from 'chai'
import { runsChart } from '../../../src/cli/runs/plot.js'
import type { EvaluatedEvent, ProgressEvent, RecordedRun } from '../../../src/index.js'

describe('the plot of runs', () => {
  it('leaves out what a run had discarded when it went back', () => {
    const progress = [1, 2, 3, 2, 3, 4].map((epoch, i) => ({ epoch, loss: i }) as ProgressEvent)
    const evaluated = [1, 2, 2, 3].map((epoch, i) => ({ epoch, testLoss: i, testAccuracy: i / 10 }) as EvaluatedEvent)
    const run = { run: 'back', progress, evaluated } as Partial<RecordedRun> as RecordedRun
    const { hconcat } = runsChart([run]) as unknown as {
      readonly hconcat: readonly { readonly layer: readonly { readonly data: { readonly values: readonly object[] } }[] }[]
    }
    const curves = hconcat.flatMap(({ layer }) => layer.map(({ data }) => data.values))
    const points = (...values: readonly (readonly [epoch: number, value: number])[]) =>
      values.map(([epoch, value]) => ({ run: 'back', epoch, value }))
    expect(curves).to.deep.equal([
      points([1, 0], [2, 3], [3, 4], [4, 5]),
      points([1, 0], [2, 2], [3, 3]),
      points([1, 0], [2, 0.2], [3, 0.3])
    ])
  })
})
