import { extname } from 'node:path'
import type { TopLevelSpec } from 'vega-lite'
import { ArbalestError, messageOf } from '../errors.js'
import { invalidFlag } from './flag-values.js'
import { writeWhole } from './whole-file.js'

/** Throws INVALID_OPTION for a plot that is to be no SVG. */
export function checkPlotName(plot: string | undefined): void {
  if (plot !== undefined && extname(plot).toLowerCase() !== '.svg') throw invalidFlag('--plot', plot, 'plots are SVG: end the name in .svg')
}

/** Draws a chart into a file, which appears when it is whole. Throws WRITE_FAILED. */
export async function writeChart(path: string, spec: TopLevelSpec): Promise<void> {
  const svg = await svgOf(spec)
  try {
    await writeWhole(path, svg)
  } catch (cause) {
    const why = messageOf(cause)
    throw new ArbalestError('WRITE_FAILED', `--plot: received ${JSON.stringify(path)}; it cannot be written (${why}); name another file`, {
      cause
    })
  }
}

async function svgOf(spec: TopLevelSpec): Promise<string> {
  const [{ compile }, { parse, View }] = await Promise.all([import('vega-lite'), import('vega')])
  const view = new View(parse(compile(spec).spec), { renderer: 'none' })
  try {
    return await view.toSVG()
  } finally {
    view.finalize()
  }
}

/** How charts look. */
export const CHART_STYLE = {
  $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
  background: 'white',
  padding: 16,
  config: {
    font: 'Helvetica, Arial, sans-serif',
    view: { stroke: null },
    axis: {
      gridColor: '#e8e8e8',
      domainColor: '#999999',
      tickColor: '#999999',
      labelColor: '#444444',
      titleColor: '#444444',
      labelFontSize: 11
    },
    title: { anchor: 'start', color: '#222222', fontSize: 13 },
    legend: {
      labelColor: '#444444',
      titleColor: '#444444',
      labelLimit: 320,
      symbolType: 'stroke',
      symbolStrokeWidth: 3,
      symbolOpacity: 1
    }
  }
} as const satisfies Partial<TopLevelSpec>
