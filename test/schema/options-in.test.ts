import { expect } from 'chai'
import * as v from 'valibot'
import { group, option, orShort, required, variants } from '../../src/schema/group.js'
import { optionsIn, shortOf, summariesOf } from '../../src/schema/options-in.js'
import { either, list, oneOf, real, text, truth, whole } from '../../src/schema/values.js'

const side = (fallback: number) => option(whole({ min: 1 }), { text: 'length of a side', flag: '--side <number>', default: fallback })
const kind = <const Name extends string>(name: Name) => required(v.literal(name), { text: 'the shape', takes: 'square, cube, circle' })
const shape = variants('kind', {
  square: group({ kind: kind('square'), side: side(1) }),
  cube: group({ kind: kind('cube'), side: side(2) }),
  circle: group({ kind: kind('circle'), radius: option(real({ above: 0 }), { text: 'its radius', otherwise: 'half of the width' }) })
})
const { entries } = group({
  shape: option(orShort(oneOf(['square', 'cube', 'circle']), shape, 'kind')),
  sizes: option(list(real({}), 'a list of sizes'), { text: 'sizes', default: [] }),
  name: required(text('a name'), { text: 'the name' }),
  quiet: option(truth(), { text: 'say nothing', default: false }),
  width: option(
    either([whole(), text('a unit')], (value) => (typeof value === 'number' ? 0 : 1)),
    { text: 'the width' }
  ),
  hidden: option(whole())
})

const summaryOf = (path: string) => summariesOf(entries).find((each) => each.path === path)!

describe('The options of a schema', () => {
  it('are found in all the groups of which one is chosen', () => {
    const places = [...optionsIn(entries)].map(({ path, choice }) => `${path} ${choice?.name ?? ''}`.trim())
    expect(places).to.deep.equal([
      'shape',
      'shape.kind square',
      'shape.side square',
      'shape.kind cube',
      'shape.side cube',
      'shape.kind circle',
      'shape.radius circle',
      'sizes',
      'name',
      'quiet',
      'width',
      'hidden'
    ])
  })

  it('are summed up once each, with the choices that have them or that their defaults are for', () => {
    expect(summariesOf(entries).map(({ path }) => path)).to.deep.equal([
      'shape.kind',
      'shape.side',
      'shape.radius',
      'sizes',
      'name',
      'quiet',
      'width'
    ])
    expect(summaryOf('shape.kind')).to.include({ takes: 'square, cube, circle' }).and.not.have.property('fallback')
    expect(summaryOf('shape.kind').of).to.deep.equal([])
    expect(summaryOf('shape.side')).to.include({ flag: '--side <number>', fallback: '1 for square; 2 for cube' })
    expect(summaryOf('shape.radius')).to.deep.include({ of: ['circle'], takes: 'number above 0', fallback: 'half of the width' })
    expect(summaryOf('quiet')).to.include({ takes: 'true or false' }).and.not.have.property('fallback')
    expect(summaryOf('sizes')).to.not.have.property('fallback')
    expect(summaryOf('width').takes).to.equal('whole number of at least 0; a unit')
  })

  it('say for which of them a text stands, and how a text is read', () => {
    expect(shortOf(entries.shape)).to.equal('kind')
    expect(shortOf(entries.name)).to.equal(undefined)
    const refuse = (fix: string) => new Error(fix)
    expect(summaryOf('sizes').fromText!('1,2.5', refuse)).to.deep.equal([1, 2.5])
    expect(() => summaryOf('sizes').fromText!('1,', refuse)).to.throw('use a number')
    expect(summaryOf('quiet').fromText!('true', refuse)).to.equal(true)
    expect(() => summaryOf('quiet').fromText!('yes', refuse)).to.throw('use true or false')
  })

  it('read a text as any of the choices takes it', () => {
    const about = { text: 'length of a side', flag: '--side <number>' }
    const sides = variants('kind', {
      square: group({ kind: kind('square'), side: option(whole(), about) }),
      circle: group({ kind: kind('circle'), side: option(oneOf(['none']), about) })
    })
    const { fromText } = summariesOf(group({ shape: option(sides) }).entries).find(({ path }) => path === 'shape.side')!
    const refuse = (fix: string) => new Error(fix)
    expect(fromText!('2', refuse)).to.equal(2)
    expect(fromText!('none', refuse)).to.equal('none')
  })
})
