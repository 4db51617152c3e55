import { byId, element } from './dom.js'
import { counted, shortText } from './format.js'
import type { RunFacts } from './wire.js'

interface Lesson {
  readonly title: string
  readonly lead: string
  readonly steps: readonly (readonly [what: string, how: string])[]
}

/** How the run keeps its learners together, for those who see it for the first time. */
export class LessonCard {
  #shown = ''

  show(facts: RunFacts): void {
    const { title, lead, steps } = lessonOf(facts)
    const key = JSON.stringify([title, lead, steps])
    if (key === this.#shown) return
    this.#shown = key
    byId('lesson-title').textContent = title
    byId('lesson-lead').textContent = lead
    byId('lesson-steps').replaceChildren(...steps.map(([what, how]) => element('li', {}, element('strong', {}, what), how)))
  }
}

const WHY = 'Small batches train well, but one learner with small batches leaves most of the machine idle.'
const LEAD = `${WHY} So several learners train copies of the model at once, and a synchroniser keeps them together around a central model z, which is the one that is measured and saved.`
const LEAD_IN_PLACE = `${WHY} So several learners train one model z at once, which is the one that is measured and saved.`

/** The kind of each synchroniser's rule, by the synchroniser's name. A log has the name of the synchroniser, but not its rule. */
const KINDS: Readonly<Record<string, string>> = {
  sma: 'sma',
  easgd: 'sma',
  eamsgd: 'sma',
  ssgd: 'optimiser',
  'polyak-ruppert': 'mean',
  'local-sgd': 'outer',
  'post-local-sgd': 'outer',
  lookahead: 'outer',
  slowmo: 'outer',
  diloco: 'outer',
  downpour: 'asynchronous',
  hogwild: 'asynchronous'
}

export function lessonOf({ rule, batch, learners, synchroniser }: Pick<RunFacts, 'rule' | 'batch' | 'learners' | 'synchroniser'>): Lesson {
  const kind = rule?.kind ?? KINDS[synchroniser]
  const numbers = rule?.numbers ?? {}
  const number = (name: string) => (typeof numbers[name] === 'number' ? numbers[name] : undefined)
  const every = everyRound(number('period'))
  const title = synchroniser === 'sma' ? 'How synchronous model averaging works' : `How ${synchroniser} works`
  const lesson = (...steps: Lesson['steps']): Lesson => ({ title, lead: LEAD, steps })
  const samples = batch > 0 ? `: ${counted(batch, 'sample')}` : ''
  const apart = [
    'Each learner learns apart',
    `It has a copy of the model, and steps down the gradient of a batch of its own${samples}.`
  ] as const
  const momentum = number('momentum') ?? 0
  switch (kind) {
    case 'sma': {
      const alpha = number('alpha') ?? Math.min(1 / Math.max(1, learners), 0.5)
      const part = rule ? `a part α = ${shortText(alpha)}` : 'a part α'
      const speed = momentum > 0 ? `, and keeps a part µ = ${shortText(momentum)} of its speed` : ''
      return lesson(
        apart,
        ['The centre pulls', `${every} each learner is drawn ${part} of the way towards z, so that none of them strays.`],
        ['The centre follows', `z moves by the sum of these pulls${speed}. What differs between the learners cancels out there.`]
      )
    }
    case 'outer':
      return lesson(
        apart,
        ['They meet', `${every} the mean of their weights is compared with z.`],
        [
          'The centre steps',
          `${momentum > 0 ? 'The difference is taken as a gradient, with momentum' : 'z moves towards that mean'}; all learners go on from the new z.`
        ]
      )
    case 'mean':
      return lesson(
        apart,
        ['They never meet', 'Each learner goes on with its own weights: neither the others nor z change them.'],
        ['The centre averages', `${every} the mean of their weights joins z, which is the mean of all rounds.`]
      )
    case 'optimiser':
      return lesson(
        ['One batch, in parts', `Each learner computes the gradient of ${counted(batch, 'sample')}.`],
        ['They wait', `${aheadBy(number('slack'))}The gradients are averaged in every step.`],
        ['One step', 'An optimiser takes one step on z, which all learners have.']
      )
    case 'updates':
      return lesson(
        apart,
        ['They wait', `${aheadBy(number('slack'))}The steps of all learners are added up in every iteration.`],
        ['The centre moves', 'z moves by their sum, and the learners go on from it.']
      )
    case 'asynchronous':
      if (numbers['exchange'] === 'inPlace' || synchroniser === 'hogwild')
        return {
          title,
          lead: LEAD_IN_PLACE,
          steps: [
            ['One copy of the model', 'All learners train z itself, without locks.'],
            [
              'No learner waits',
              `Each learner takes its steps on a batch of its own${samples}. It changes z as it finds it, with the changes of the others.`
            ]
          ]
        }
      return lesson(
        apart,
        ['No learner waits', 'Each learner sends its updates to z when it has them.'],
        ['And fetches', 'It goes on from the z that it finds, which others have changed meanwhile.']
      )
    default:
      return {
        title: `How ${synchroniser || 'the run'} keeps its learners together`,
        lead: LEAD,
        steps: [
          apart,
          ['They meet', `${every} they bring what they have learnt.`],
          ['The centre moves', 'The rule makes a new z of it, from which they go on.']
        ]
      }
  }
}

function everyRound(period: number | undefined): string {
  if (period === undefined) return 'At the end of every round'
  return period === 1 ? 'After every step' : `After every ${period} steps`
}

/** Only where learners need not wait in every step. */
function aheadBy(slack = 0): string {
  return slack > 0 ? `A learner may be ${counted(slack, 'step')} ahead of the slowest. ` : ''
}
