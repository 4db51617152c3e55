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

const LEAD =
  'Small batches train well, but one learner with small batches leaves most of the machine idle. So several learners train copies of the model at once, and a synchroniser keeps them together around a central model z, which is the one that is measured and saved.'

function lessonOf({ rule, batch, learners, synchroniser }: RunFacts): Lesson {
  const { kind = synchroniser, numbers = {} } = rule ?? {}
  const period = Number(numbers['period'] ?? 1)
  const every = period === 1 ? 'After every step' : `After every ${period} steps`
  const apart = [
    'Each learner learns apart',
    `It has a copy of the model, and steps down the gradient of a batch of its own${batch > 0 ? `: ${counted(batch, 'sample')}` : ''}.`
  ] as const
  switch (kind) {
    case 'sma': {
      const momentum = Number(numbers['momentum'] ?? 0)
      const alpha = Number(numbers['alpha'] ?? Math.min(1 / Math.max(1, learners), 0.5))
      return {
        title: 'How synchronous model averaging works',
        lead: LEAD,
        steps: [
          apart,
          [
            'The centre pulls',
            `${every} each learner is drawn a part α = ${shortText(alpha)} of the way towards z, so that none of them strays.`
          ],
          [
            'The centre follows',
            `z moves by the sum of these pulls${momentum > 0 ? `, and keeps a part µ = ${shortText(momentum)} of its speed` : ''}. What differs between the learners cancels out there.`
          ]
        ]
      }
    }
    case 'outer':
      return {
        title: `How ${synchroniser} works`,
        lead: LEAD,
        steps: [
          apart,
          ['They meet', `${every} the mean of their weights is compared with z.`],
          ['The centre steps', 'The difference is taken as a gradient, with momentum; all learners go on from the new z.']
        ]
      }
    case 'optimiser':
      return {
        title: `How ${synchroniser} works`,
        lead: LEAD,
        steps: [
          ['One batch, in parts', `Each learner computes the gradient of ${counted(batch, 'sample')}.`],
          ['They wait', 'The gradients are averaged in every step.'],
          ['One step', 'An optimiser takes one step on z, which all learners have.']
        ]
      }
    case 'asynchronous':
      return {
        title: `How ${synchroniser} works`,
        lead: LEAD,
        steps: [
          apart,
          ['No learner waits', 'Each learner sends its updates to z when it has them.'],
          ['And fetches', 'It goes on from the z that it finds, which others have changed meanwhile.']
        ]
      }
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
