import { byId, element, fillTable, say } from './dom.js'
import { bytesText, counted, countText, numberText, percentText, rateText, shortText, timeText } from './format.js'
import type { PageRun } from './run-state.js'
import { isOver, type Happening, type MemoryFacts, type RunFacts } from './wire.js'

/** One of several runs. */
export interface AmongRuns {
  readonly title: string
  /** Of its curves. */
  readonly colour: string
}

/** The title of the tab. A page in the background shows nothing else. */
export function showTitle({ facts }: PageRun, among?: AmongRuns): void {
  const { name, state } = facts
  document.title = `${isOver(facts) ? `${state}:` : percentText(shareDone(facts))} ${among?.title ?? name} – Arbalest`
}

function shareDone({ iteration, iterations }: RunFacts): number {
  return iterations > 0 ? Math.min(1, iteration / iterations) : 0
}

/** The head of the page: what the run is, how far it is, its present figures. */
export function showSummary({ facts }: PageRun, among?: AmongRuns): void {
  const { name, state, iteration, iterations, epoch, seconds } = facts
  const title = byId('title')
  say(title, among?.title ?? name)
  title.classList.toggle('coloured', among !== undefined)
  title.style.setProperty('--swatch', `var(--${among?.colour})`)
  say(byId('state'), state)
  byId('state').dataset['state'] = state
  say(byId('described'), [...(among ? [name] : []), ...describe(facts)].join(', '))
  const share = shareDone(facts)
  byId<HTMLProgressElement>('progress').value = share
  const left = state === 'training' && share > 0 && Number.isFinite(iterations) ? `, ${timeText((seconds * (1 - share)) / share)} left` : ''
  say(
    byId('progressed'),
    `${percentText(share)}, iteration ${countText(iteration)}, epoch ${epoch.toFixed(2)}, ${timeText(seconds)} of training${left}`
  )
  byId('figures').replaceChildren(
    ...figuresOf(facts).map(([label, value, note = '']) =>
      element('div', { class: 'figure' }, element('dt', {}, label), element('dd', {}, value, element('small', {}, note && ` ${note}`)))
    )
  )
}

function describe({ batch, synchroniser, precision, seed, parameters, samples, hosts }: RunFacts): readonly string[] {
  if (parameters === 0) return []
  const sizes = [counted(parameters, 'parameter'), counted(samples, 'sample'), `batches of ${batch}`]
  return [...sizes, synchroniser, precision, `seed ${seed}`, ...(hosts > 1 ? [counted(hosts, 'host')] : [])]
}

type Figure = readonly [label: string, value: string, note?: string]

function figuresOf(facts: RunFacts): readonly Figure[] {
  const { loss, testLoss, imagesPerSecond, dataWait, learners, deaths, learningRate } = facts
  const quality = qualityOf(facts)
  const waits = dataWait && dataWait > 0.02 ? `${percentText(dataWait)} wait for data` : ''
  return [
    ['training loss', numberText(loss)],
    ['test loss', numberText(testLoss)],
    // Before the first measurement it is unknown whether it tells an accuracy.
    ...(quality.length === 0 && testLoss === null ? [['test accuracy', percentText(null)] as const] : quality),
    ['samples/s', rateText(imagesPerSecond), facts.state === 'completed' || facts.state === 'stopped' ? 'mean' : waits],
    ['learners', facts.memory === null ? '–' : `${learners}`, deaths > 0 ? `${deaths} died` : ''],
    ['learning rate', shortText(learningRate)]
  ]
}

/** How good the central model is, by what its measurements tell. */
function qualityOf({ testAccuracy, testTopK, testPerplexity, testR2, testMae }: RunFacts): readonly Figure[] {
  const figures: readonly (readonly [label: string, value: number | null, text: string])[] = [
    ['test accuracy', testAccuracy, percentText(testAccuracy, 2)],
    ['top-k accuracy', testTopK, percentText(testTopK, 2)],
    ['test perplexity', testPerplexity, numberText(testPerplexity)],
    ['test R²', testR2, numberText(testR2)],
    ['mean absolute error', testMae, numberText(testMae)]
  ]
  return figures.filter(([, value]) => value !== null).map(([label, , text]) => [label, text])
}

/** What a screen reader is told, at most now and then. */
export function saidOf({ facts }: PageRun): string {
  const { name, state, iteration, loss, learners } = facts
  const quality = qualityOf(facts).map(([label, value]) => `${label} ${value}`)
  const figures = [`iteration ${countText(iteration)}`, `loss ${numberText(loss)}`, ...quality, counted(learners, 'learner')]
  return `${name}, ${state}: ${figures.join(', ')}.`
}

export function showHappenings({ happenings, facts }: PageRun): void {
  const tuned = happenings.filter(({ kind }) => kind === 'tuner')
  const none = isOver(facts) ? 'Nothing.' : 'Nothing yet.'
  byId('tuner').parentElement!.hidden = !facts.isTuned && tuned.length === 0
  fill('tuner', tuned, none)
  fill(
    'happened',
    happenings.filter(({ kind }) => kind !== 'tuner'),
    none
  )
}

function fill(id: string, happenings: readonly Happening[], none: string): void {
  const list = byId(id)
  // A list that has not changed keeps its place where its reader has scrolled to.
  const key = `${happenings.length} ${happenings.at(-1)?.seconds} ${happenings[0]?.seconds} ${none}`
  if (list.dataset['key'] === key) return
  list.dataset['key'] = key
  if (happenings.length === 0) return list.replaceChildren(element('li', { class: 'none' }, none))
  list.replaceChildren(
    ...happenings
      .toReversed()
      .map(({ seconds, kind, title, detail }) =>
        element('li', { 'data-kind': kind }, element('time', {}, timeText(seconds)), element('strong', {}, title), element('p', {}, detail))
      )
  )
}

export function showMemory({ facts: { memory } }: PageRun): void {
  const target = byId('memory')
  const key = JSON.stringify([memory?.devices, memory?.restored, Math.round((memory?.resident ?? 0) / 5e6)])
  if (target.dataset['key'] === key) return
  target.dataset['key'] = key
  if (!memory) return target.replaceChildren(element('p', { class: 'hint' }, 'Not known yet.'))
  const most = Math.max(...memory.devices.map(bytesOf))
  target.replaceChildren(...memory.devices.map((device, i) => memoryBar(device, i, most)), ...processMemory(memory), ...restoredIn(memory))
}

type DeviceMemory = MemoryFacts['devices'][number]

function bytesOf({ learners, learnerBytes, sharedBytes }: DeviceMemory): number {
  return learners * learnerBytes + sharedBytes
}

function memoryBar(device: DeviceMemory, number: number, most: number): HTMLElement {
  const { learners, learnerBytes, sharedBytes } = device
  const parts = [...Array.from({ length: Math.min(learners, 64) }, () => ['', learnerBytes] as const), ['shared', sharedBytes] as const]
  const bar = element('div', { class: 'bar', 'aria-hidden': 'true' })
  for (const [name, bytes] of parts) {
    const part = element('span', { class: name })
    part.style.width = `${(100 * bytes) / most}%`
    bar.append(part)
  }
  const said = `${learners} × ${bytesText(learnerBytes)} for learners, ${bytesText(sharedBytes)} shared`
  const line = element('p', {}, element('span', {}, `Device ${number}: ${bytesText(bytesOf(device))}`), element('small', {}, said))
  return element('div', { class: 'barred' }, line, bar)
}

function processMemory({ resident, heap }: MemoryFacts): readonly HTMLElement[] {
  if (resident === null || heap === null) return []
  const line = element(
    'p',
    {},
    element('span', {}, `Process: ${bytesText(resident)}`),
    element('small', {}, `JavaScript ${bytesText(heap)}`)
  )
  return [element('div', { class: 'barred' }, line)]
}

/** What a limit of memory costs. */
function restoredIn({ restored }: MemoryFacts): readonly HTMLElement[] {
  if (restored === null) return []
  const { recomputedBytes, movedBytes, slowdown } = restored
  const moves = movedBytes > 0 ? ` and moves ${bytesText(movedBytes)}` : ''
  const again = `To fit, a step computes ${bytesText(recomputedBytes)} again${moves}: ${slowdown.toFixed(2)} times its time, as predicted.`
  return [element('p', { class: 'hint' }, again)]
}

export function showLevels({ facts }: PageRun): void {
  const target = byId('levels')
  const key = JSON.stringify([
    facts.levels,
    facts.exchange,
    facts.learners,
    facts.hosts,
    facts.memory?.devices.map(({ learners }) => learners),
    facts.sharing
  ])
  if (target.dataset['key'] === key) return
  target.dataset['key'] = key
  const { levels } = facts
  if (!facts.memory) return target.replaceChildren(element('p', { class: 'hint' }, 'Not known yet.'))
  const devices = element('div', { class: 'devices' }, ...devicesOf(facts))
  const averaged = (levels?.names ?? []).reduce<HTMLElement>((within, name) => level(LEVELS[name] ?? name, within), devices)
  const machine = level(facts.hosts > 1 ? 'This host' : 'This machine', averaged)
  const whole = facts.hosts > 1 ? level(counted(facts.hosts, 'host'), machine) : machine
  const table = element('table')
  if (levels && levels.measured.length > 0) {
    const rows = levels.measured.map((each) => [
      each.level,
      `${each.parts}`,
      `${(each.bytesPerSecond / 1e9).toFixed(2)} GB/s`,
      `${(1e3 * each.seconds).toFixed(2)} ms`
    ])
    fillTable(table, ['level', 'parts', 'measured', 'a round'], rows)
  }
  const words = [
    levels?.reason ?? '',
    facts.exchange ?? '',
    facts.sharing === null ? '' : `The device is shared by several jobs: ${facts.sharing}.`
  ]
  target.replaceChildren(
    element('div', { class: 'levels' }, whole, table),
    ...words.filter(Boolean).map((text) => element('p', { class: 'hint' }, text))
  )
}

const LEVELS: Readonly<Record<string, string>> = {
  devices: 'Averaged over devices',
  hosts: 'Averaged over hosts'
}

function level(name: string, content: HTMLElement): HTMLElement {
  return element('div', { class: 'level' }, element('p', { class: 'level-name' }, name), content)
}

function devicesOf({ memory, levels }: RunFacts): readonly HTMLElement[] {
  return (memory?.devices ?? []).map((device, i) => {
    const cores = levels?.devices[i] ?? []
    const where = cores.length > 0 ? `, ${cores.length === 1 ? 'core' : 'cores'} ${cores.join(' ')}` : ''
    const dots = element(
      'div',
      { class: 'dots', 'aria-hidden': 'true' },
      ...Array.from({ length: Math.min(64, device.learners) }, () => element('i'))
    )
    return level(`Device ${i}: ${counted(device.learners, 'learner')}${where}`, dots)
  })
}
