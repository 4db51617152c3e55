import type { TopLevelSpec } from 'vega-lite'
import type { Explanation, HeldBytes } from '../../index.js'
import { external } from '../text.js'
import { CHART_STYLE } from '../svg-file.js'

/**
 * What a step holds over its operators, with and without the limit. Both curves have the same places: what runs again stands at the operator before which
 * it does, and adds no place of its own.
 */
export function memoryChart({ model, batch, timeline: { held, within } }: Explanation): TopLevelSpec {
  const curves = [...curve(held, 'everything held'), ...(within ? curve(within, 'within the limit') : [])]
  return {
    ...CHART_STYLE,
    title: `${external(model)}, batch ${batch}: activations and scratch over the operators of a step`,
    width: 640,
    height: 280,
    data: { values: curves },
    mark: { type: 'line', interpolate: 'step-after', strokeWidth: 1.5 },
    encoding: {
      x: { field: 'operator', type: 'quantitative', title: 'operator', scale: { nice: false }, axis: { grid: false } },
      y: { field: 'mebibytes', type: 'quantitative', title: 'MiB' },
      color: {
        field: 'curve',
        type: 'nominal',
        title: null,
        scale: { domain: [...new Set(curves.map((point) => point.curve))], scheme: 'tableau10' },
        legend: { orient: 'bottom' }
      }
    }
  }
}

interface Point {
  readonly curve: string
  readonly operator: number
  readonly mebibytes: number
}

function curve(step: readonly HeldBytes[], name: string): Point[] {
  const points: Point[] = []
  let most = 0
  for (const { bytes, repeats } of step) {
    most = Math.max(most, bytes)
    if (repeats) continue
    points.push({ curve: name, operator: points.length + 1, mebibytes: most / 2 ** 20 })
    most = 0
  }
  return points
}
