import { byId, drawn, say } from './dom.js'
import { counted, countText, numberText } from './format.js'
import { occupiedPlaces } from './lanes.js'
import type { PageRun } from './run-state.js'
import { isOver, STATES } from './wire.js'

const NEAR = 46
const FAR = 140
/** Learners that are drawn; more would cover each other. */
const MOST = 32
/** How fast the scale follows distances that have become smaller, a message. */
const DECAY = 0.995

interface Drawn {
  readonly learner: SVGElement
  readonly pull: SVGElement
}

/** The central model with its learners around it, as far away as they are. */
export class Orbit {
  readonly #svg = byId<SVGSVGElement>('orbit')
  readonly #said = byId('orbit-said')
  #learners: Drawn[] = []
  #farthest = 0
  #run = ''
  #places = ''

  show(run: PageRun): void {
    const occupied = occupiedPlaces(run)
    const places = occupied.slice(0, MOST)
    if (run.id !== this.#run) this.#farthest = 0
    if (run.id !== this.#run || places.join() !== this.#places) this.#draw(places)
    this.#run = run.id
    this.#places = places.join()
    const distances = occupied.map((place) => run.known(`place ${place}`, 'place', 'distance'))
    const known = distances.filter((each) => each !== null)
    this.#farthest = Math.max(DECAY * this.#farthest, ...known)
    for (const [i, { learner, pull }] of this.#learners.entries()) {
      const distance = distances[i] ?? null
      const share = distance === null || this.#farthest === 0 ? 0.6 : distance / this.#farthest
      const radius = NEAR + (FAR - NEAR) * share
      const angle = (360 * i) / places.length - 90
      const state = STATES[run.facts.places[places[i]!]![2]!]!
      learner.setAttribute('data-state', state)
      learner.style.transform = `rotate(${angle}deg) translate(${radius}px) rotate(${-angle}deg)`
      pull.style.transform = `rotate(${angle}deg) scaleX(${radius / FAR})`
    }
    const mean = known.reduce((sum, each) => sum + each, 0) / known.length
    const { learners, round, isLive } = run.facts
    const isTold = isLive && round > 0 && !isOver(run.facts)
    const some = occupied.length > MOST ? `, of which ${MOST} are drawn` : ''
    const far = known.length > 0 ? `, on average ${numberText(mean)} from the central model` : ''
    say(this.#said, isTold ? `Round ${countText(round)}: ${counted(learners, 'learner')}${some}${far}.` : '')
  }

  #draw(places: readonly number[]): void {
    const rings = [1 / 3, 2 / 3, 1].map((part) => drawn('circle', { r: NEAR + (FAR - NEAR) * part, class: 'orbit-ring' }))
    const size = places.length > 16 ? 7 : places.length > 8 ? 10 : 13
    this.#learners = places.map((place) => ({
      learner: drawn('g', { class: 'orbit-learner' }, drawn('circle', { r: size }), ...(size > 8 ? [drawn('text', {}, `${place}`)] : [])),
      pull: drawn('line', { x1: 0, y1: 0, x2: FAR, y2: 0, class: 'orbit-pull', 'vector-effect': 'non-scaling-stroke' })
    }))
    const centre = drawn('g', { class: 'orbit-centre' }, drawn('circle', { r: 21 }), drawn('text', {}, 'z'))
    const glow = drawn('circle', { r: 34, class: 'orbit-glow' })
    this.#svg.replaceChildren(
      ...rings,
      ...this.#learners.map(({ pull }) => pull),
      glow,
      centre,
      ...this.#learners.map(({ learner }) => learner)
    )
  }
}
