import { compile, type TopLevelSpec } from 'vega-lite'
import { parse, View } from 'vega'
import type { TtaCase } from './cases.js'
import { curvesOf, type CurvePoint } from './curves.js'
import type { Paces } from './pace.js'
import type { Findings } from './plan.js'
import { RULE_TITLES } from './report.js'
import type { Estimate } from './estimate.js'
import { summaries, type MethodSummary } from './summary.js'

const COLOURS = { domain: Object.values(RULE_TITLES), range: ['#8a94a6', '#e4572e', '#2e86ab'] }
const INK = '#2b2f36'
const FAINT = '#e9ebef'

/** An SVG. Above: accuracy over seconds, a panel for each number of learners, with each run and the mean of the seeds. Below: epochs and seconds to the target. */
export async function plotOf(one: TtaCase, findings: Findings, paces: Paces): Promise<string> {
  const view = new View(parse(compile(specOf(one, findings, paces)).spec), { renderer: 'none' })
  try {
    return await view.toSVG()
  } finally {
    view.finalize()
  }
}

function specOf(one: TtaCase, findings: Findings, paces: Paces): TopLevelSpec {
  const { runs, means } = curvesOf(one, findings, paces)
  const told = summaries(one, findings, paces)
  const counts = one.learners.filter((count) => runs.some(({ learners }) => learners === count))
  const longest = Math.max(...runs.map(({ seconds }) => seconds))
  const width = 300
  // As wide as the panels above with their gaps.
  const breadth = counts.length * width + (counts.length - 1) * 72 - 44
  // Below it the curves are steep and alike.
  const lowest = Math.max(0, 1 - 6 * (1 - one.target))
  const panels = counts.map((count, i) => {
    const curves = (points: readonly CurvePoint[], style: object) => ({
      data: { values: points.filter(({ learners }) => learners === count) },
      mark: { type: 'line', strokeJoin: 'round', clip: true, ...style },
      encoding: { ...curveAxes(i, [lowest, 1], longest), detail: { field: 'seed', type: 'nominal' } }
    })
    return {
      width,
      height: 230,
      title: `${count} learner${count > 1 ? 's' : ''}`,
      layer: [
        {
          data: { values: [{ target: one.target }] },
          mark: { type: 'rule', strokeDash: [5, 4], color: INK, opacity: 0.55 },
          encoding: { y: { field: 'target', type: 'quantitative' } }
        },
        curves(runs, { strokeWidth: 1, opacity: 0.35 }),
        curves(means, { strokeWidth: 2.4 })
      ]
    }
  })
  return {
    $schema: 'https://vega.github.io/schema/vega-lite/v6.json',
    background: 'white',
    padding: 20,
    title: {
      text: `${one.title}: time to ${Number((100 * one.target).toPrecision(4))}%`,
      subtitle: `batch ${findings.batch} a learner; thin: a seed's run; thick: the mean of those that did not diverge; dashed: the target`,
      fontSize: 17,
      offset: 18
    },
    spacing: 28,
    vconcat: [
      { spacing: 24, hconcat: panels },
      {
        spacing: 56,
        hconcat: [bars(told, 'epochs', breadth), bars(told, 'seconds', breadth)]
      }
    ],
    config: CONFIG
  } as unknown as TopLevelSpec
}

function curveAxes(panel: number, domain: readonly [number, number], longest: number): object {
  return {
    x: {
      field: 'seconds',
      type: 'quantitative',
      title: 'seconds of training',
      scale: { domain: [0, longest], nice: false },
      axis: { grid: false, tickCount: 5 }
    },
    y: {
      field: 'accuracy',
      type: 'quantitative',
      title: panel === 0 ? 'test accuracy' : null,
      scale: { domain, nice: false, zero: false },
      axis: { format: '.0~%', tickCount: 5 }
    },
    color: COLOUR
  }
}

const COLOUR = {
  field: 'rule',
  type: 'nominal',
  title: null,
  scale: COLOURS,
  legend: { orient: 'top', direction: 'horizontal', symbolType: 'stroke', symbolStrokeWidth: 4, symbolSize: 260, symbolOpacity: 1 }
}

interface Bar {
  readonly rule: string
  readonly learners: string
  readonly mean: number
  readonly low: number
  readonly high: number
  readonly text: string
  /** Above the text: the number of runs that reached the target, if not all did. */
  readonly share: string
}

function bars(told: readonly MethodSummary[], what: 'epochs' | 'seconds', width: number): object {
  const values = told.map((method): Bar => {
    const { mean, deviation }: Pick<Estimate, 'mean' | 'deviation'> = method[what] ?? { mean: 0, deviation: 0 }
    const text = mean > 0 ? mean.toFixed(what === 'epochs' ? 1 : 0) : ''
    const share = method.reached < method.runs ? `(${method.reached}/${method.runs})` : ''
    const learners = `${method.learners} learner${method.learners > 1 ? 's' : ''}`
    return { rule: RULE_TITLES[method.rule], learners, mean, low: Math.max(0, mean - deviation), high: mean + deviation, text, share }
  })
  const most = Math.max(...values.map(({ high }) => high))
  const x = {
    field: 'learners',
    type: 'nominal',
    title: null,
    sort: null,
    axis: { labelAngle: 0, ticks: false, domain: false, labelPadding: 8 }
  }
  const at = (field: string) => ({ field, type: 'quantitative', title: null, scale: { domain: [0, 1.12 * most], nice: 4 } })
  const label = (field: 'text' | 'share', dy: number) => ({
    mark: { type: 'text', dy, fontSize: 11, color: INK },
    encoding: { y: at('high'), text: { field, type: 'nominal' } }
  })
  const xOffset = { field: 'rule', scale: { domain: COLOURS.domain, paddingInner: 0.12 } }
  return {
    width: width / 2 - 16,
    height: 190,
    title: `${what} to the target`,
    data: { values },
    encoding: { x, xOffset },
    layer: [
      {
        mark: { type: 'bar', cornerRadiusEnd: 3 },
        encoding: { y: { ...at('mean'), axis: { tickCount: 4 } }, color: COLOUR }
      },
      { mark: { type: 'rule', color: INK, strokeWidth: 1.4, opacity: 0.75 }, encoding: { y: at('low'), y2: { field: 'high' } } },
      label('text', -8),
      label('share', -22)
    ]
  }
}

const CONFIG = {
  font: 'Helvetica, Arial, sans-serif',
  view: { stroke: null },
  axis: {
    gridColor: FAINT,
    domainColor: '#b4bac4',
    tickColor: '#b4bac4',
    labelColor: '#525862',
    titleColor: '#525862',
    titleFontWeight: 'normal',
    labelFontSize: 11,
    titleFontSize: 12,
    titlePadding: 8
  },
  title: {
    anchor: 'start',
    frame: 'group',
    color: INK,
    fontSize: 13,
    fontWeight: 600,
    subtitleColor: '#6b7280',
    subtitleFontSize: 12,
    subtitlePadding: 5
  },
  legend: { labelColor: INK, labelFontSize: 12, offset: 8 }
}
