// node scripts/sma-pictures.js   draws docs/pictures/*.svg, the pictures of docs/sma.md
//
// The pictures show exact computations: SMA and other rules on a quadratic valley with seeded noise, by the formulas of docs/architecture.md.
import { mkdirSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const OUT = new URL('../docs/pictures/', import.meta.url)
/** The curvatures of the valley along its two axes, and the standard deviation of a gradient's noise. */
const VALLEY = [0.4, 3]
const NOISE = 2
const START = [-9, 3]

mkdirSync(OUT, { recursive: true })
write('sma-paths.svg', paths())
write('sma-round.svg', round())
write('sma-rate.svg', noise())

/** The positions of k learners and of z in each step, with learning rate `rate` and corrections by `alpha`. */
function sma({ learners, rate, alpha, mu, steps, seed = 7, start = START }) {
  const normal = normals(seed)
  let z = [...start]
  let before = z
  const w = Array.from({ length: learners }, () => [...start])
  const trail = { learners: w.map((at) => [[...at]]), central: [z] }
  for (let step = 0; step < steps; step++) {
    const sum = [0, 0]
    for (const [j, at] of w.entries()) {
      const correction = at.map((value, axis) => alpha * (value - z[axis]))
      for (const axis of [0, 1]) {
        sum[axis] += correction[axis]
        at[axis] -= rate * (VALLEY[axis] * at[axis] + NOISE * normal()) + correction[axis]
      }
      trail.learners[j].push([...at])
    }
    const next = z.map((value, axis) => value + sum[axis] + mu * (value - before[axis]))
    before = z
    z = next
    trail.central.push(z)
  }
  return trail
}

/** Four learners and their central model in the valley. */
function paths() {
  const { learners, central } = sma({ learners: 4, rate: 0.12, alpha: 0.25, mu: 0, steps: 70 })
  const [width, height] = [720, 300]
  const place = ([x, y]) => [40 + (x + 10) * 56, 150 - y * 34]
  const rings = [0.5, 2, 6, 14].map((level) => {
    const [cx, cy] = place([0, 0])
    const [rx, ry] = VALLEY.map((curvature, axis) => Math.sqrt((2 * level) / curvature) * (axis ? 34 : 56))
    return `<ellipse class="ring" cx="${cx}" cy="${cy}" rx="${fixed(rx)}" ry="${fixed(ry)}"/>`
  })
  const trails = learners.map((points, j) => line(points.map(place), `learner l${j}`))
  const dots = central.filter((_, step) => step % 4 === 0).map((at) => dot(place(at), 3.5, 'central'))
  return svg(width, height, 'Paths of four learners and of their central model down a valley', [
    ...rings,
    ...trails,
    line(central.map(place), 'central'),
    ...dots,
    text(place([START[0], START[1]]), 'start', { dx: -6, dy: -10 }),
    text(place([0, 0]), 'minimum', { dx: -26, dy: 58 }),
    legend(470, 14, [
      ['learner l0', 'learners, small batches'],
      ['central', 'central model z']
    ])
  ])
}

/** One round: the differences w - z, the corrections, and the new z. */
function round() {
  const z = [330, 150]
  const w = [
    [170, 60],
    [240, 245],
    [520, 90]
  ]
  const alpha = 1 / 3
  const drawn = w.map((at) => at.map((value, axis) => value - alpha * (value - z[axis])))
  const next = z.map((value, axis) => value + w.reduce((sum, at) => sum + alpha * (at[axis] - value), 0))
  return svg(720, 300, 'One round of synchronous model averaging', [
    ...w.map((at) => line([at, z], 'thread')),
    ...w.map((at, j) => arrow(at, drawn[j], 'pull')),
    arrow(z, next, 'central'),
    ...w.flatMap((at, j) => [dot(at, 6, `learner l${j}`), text(at, `w${j + 1}`, { dx: -8, dy: -14 })]),
    dot(z, 7, 'central'),
    text(z, 'z', { dx: 14, dy: 20 }),
    text(next, "z'", { dx: -22, dy: -8 }),
    text([500, 200], 'each learner goes a third', {}),
    text([500, 218], 'of its way to z, and z goes', {}),
    text([500, 236], 'the sum of these ways', {}),
    text([500, 254], 'towards the learners', {})
  ])
}

/** The mean squared distance to the minimum in each step: of one learner, of SMA's central model, and of one learner with the whole batch. */
function noise() {
  const steps = 160
  const runs = 400
  const mean = (of) => {
    const total = Array.from({ length: steps + 1 }, () => 0)
    for (let seed = 1; seed <= runs; seed++) for (const [step, at] of of(seed).entries()) total[step] += loss(at) / runs
    return total
  }
  const common = { rate: 0.12, steps }
  const curves = [
    ['learner l0', 'one learner, small batches', mean((seed) => sma({ ...common, learners: 1, alpha: 0, mu: 0, seed }).learners[0])],
    ['central', 'central model of 8 learners', mean((seed) => sma({ ...common, learners: 8, alpha: 1 / 8, mu: 0, seed }).central)]
  ]
  const [left, top, width, height] = [70, 40, 600, 210]
  const place = (step, value) => [left + (step / steps) * width, top + height * (1 - (Math.log10(value) + 2) / 4)]
  const grid = [-2, -1, 0, 1, 2].flatMap((power) => {
    const y = place(0, 10 ** power)[1]
    return [
      line(
        [
          [left, y],
          [left + width, y]
        ],
        'grid'
      ),
      text([left - 8, y + 4], `${10 ** power}`, { end: true })
    ]
  })
  return svg(720, 300, 'Loss over steps of one learner and of the central model of eight', [
    ...grid,
    ...[0, 40, 80, 120, 160].map((step) => text([place(step, 1)[0], top + height + 20], `${step}`, { middle: true })),
    text([left + width / 2, 294], 'iterations', { middle: true }),
    text([left, 20], `loss above the minimum, mean of ${runs} runs`, {}),
    ...curves.map(([kind, , values]) =>
      line(
        values.map((value, step) => place(step, value)),
        kind
      )
    ),
    legend(
      440,
      60,
      curves.map(([kind, name]) => [kind, name])
    )
  ])
}

function loss(at) {
  return at.reduce((sum, value, axis) => sum + (VALLEY[axis] * value * value) / 2, 0)
}

/** Normal random numbers: Box and Muller's method with mulberry32. */
function normals(seed) {
  let state = seed >>> 0
  const uniform = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return (((mixed ^ (mixed >>> 14)) >>> 0) + 0.5) / 2 ** 32
  }
  return () => Math.sqrt(-2 * Math.log(uniform())) * Math.cos(2 * Math.PI * uniform())
}

/** Colours that are readable on white and on black; the text follows the preference of the reader's system. */
function svg(width, height, title, parts) {
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" role="img" aria-label="${title}">
<style>
text { font: 13px system-ui, sans-serif; fill: #24292f; }
path, ellipse { fill: none; stroke-linejoin: round; }
.ring, .grid { stroke: #8b949e; stroke-opacity: 0.35; }
.thread { stroke: #8b949e; stroke-dasharray: 3 4; }
.learner { stroke: #3b82f6; stroke-width: 1.5; stroke-opacity: 0.75; }
.l1 { stroke: #14a38b; } .l2 { stroke: #a371f7; } .l3 { stroke: #4aa3df; }
.pull { stroke: #3b82f6; stroke-width: 2.5; }
.central { stroke: #e5640f; stroke-width: 3; }
circle.learner { fill: #3b82f6; stroke: none; } circle.l1 { fill: #14a38b; } circle.l2 { fill: #a371f7; }
circle.central { fill: #e5640f; stroke: none; }
@media (prefers-color-scheme: dark) { text { fill: #e6edf3; } }
</style>
${parts.join('\n')}
</svg>
`
}

function line(points, kind) {
  return `<path class="${kind}" d="M${points.map(([x, y]) => `${fixed(x)},${fixed(y)}`).join('L')}"/>`
}

function arrow([x0, y0], [x1, y1], kind) {
  const angle = Math.atan2(y1 - y0, x1 - x0)
  const barb = (turn) => [x1 - 9 * Math.cos(angle + turn), y1 - 9 * Math.sin(angle + turn)]
  return line([[x0, y0], [x1, y1], barb(0.45), [x1, y1], barb(-0.45)], kind)
}

function dot([x, y], radius, kind) {
  return `<circle class="${kind}" cx="${fixed(x)}" cy="${fixed(y)}" r="${radius}"/>`
}

function text([x, y], words, { dx = 0, dy = 0, end = false, middle = false }) {
  const anchor = end ? ' text-anchor="end"' : middle ? ' text-anchor="middle"' : ''
  return `<text x="${fixed(x + dx)}" y="${fixed(y + dy)}"${anchor}>${words}</text>`
}

function legend(x, y, entries) {
  return entries
    .map(
      ([kind, words], row) =>
        line(
          [
            [x, y + row * 20],
            [x + 28, y + row * 20]
          ],
          kind
        ) + text([x + 36, y + row * 20 + 4], words, {})
    )
    .join('\n')
}

function fixed(number) {
  return Number(number.toFixed(1))
}

function write(name, content) {
  writeFileSync(new URL(name, OUT), content)
  console.log(fileURLToPath(new URL(name, OUT)))
}
