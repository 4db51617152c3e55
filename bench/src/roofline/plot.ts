import { parse, View } from 'vega'
import { compile, type TopLevelSpec } from 'vega-lite'
import type { Placed, Roofs } from './bound.js'

/** An SVG: each operator at its intensity and speed, as large as its share of the step, under the roofs of a core. */
export async function rooflinePlot(title: string, placed: readonly Placed[], roofs: Roofs): Promise<string> {
  const points = placed
    .filter(({ flops, bytes }) => flops > 0 && bytes > 0)
    .map(({ kind, name, flops, bytes, seconds }) => ({
      kind,
      name,
      intensity: flops / bytes,
      speed: flops / seconds / 1e9,
      us: seconds * 1e6
    }))
  const intensities = points.map(({ intensity }) => intensity)
  const [low, high] = [Math.min(...intensities) / 2, Math.max(...intensities) * 2]
  const roof = (name: string, bytesPerSecond: number) =>
    Array.from({ length: 60 }, (_, i) => {
      const intensity = low * (high / low) ** (i / 59)
      return { roof: name, intensity, speed: Math.min(roofs.flopsPerSecond, intensity * bytesPerSecond) / 1e9 }
    })
  const x = { field: 'intensity', type: 'quantitative', scale: { type: 'log', domain: [low, high] }, title: 'operations a byte' }
  const y = { field: 'speed', type: 'quantitative', scale: { type: 'log' }, title: 'GFLOP/s of one core' }
  const spec = {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    background: 'white',
    padding: 16,
    width: 620,
    height: 380,
    title: { text: `${title}: operators under the roofs of a core`, subtitle: 'area: time of a run' },
    layer: [
      {
        data: { values: [...roof('caches', roofs.cacheBytesPerSecond), ...roof('memory', roofs.bytesPerSecond)] },
        mark: { type: 'line', color: '#2b2f36' },
        encoding: { x, y, strokeDash: { field: 'roof', type: 'nominal', title: 'roof' } }
      },
      {
        data: { values: points },
        mark: { type: 'circle', opacity: 0.7 },
        encoding: {
          x,
          y,
          size: { field: 'us', type: 'quantitative', title: 'us' },
          color: { field: 'kind', type: 'nominal', scale: { scheme: 'tableau20' }, legend: { labelLimit: 0 } }
        }
      }
    ]
  }
  const view = new View(parse(compile(spec as unknown as TopLevelSpec).spec), { renderer: 'none' })
  try {
    return await view.toSVG()
  } finally {
    view.finalize()
  }
}
