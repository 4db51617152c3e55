import { expect } from 'chai'
import { Screen, type ScreenOutput } from '../../../src/cli/top/screen.js'

const LINES = ['job', 'actor', 'a', 'b', 'c', 'd']

describe('the screen of `arbalest top`', () => {
  let term: string | undefined
  before(() => {
    term = process.env['TERM']
    process.env['TERM'] = 'xterm'
  })
  after(() => {
    if (term === undefined) delete process.env['TERM']
    else process.env['TERM'] = term
  })

  const shown = (rows: number, { isOverwritten }: { readonly isOverwritten: boolean }): string[] => {
    const written: string[] = []
    const output: ScreenOutput = { isTTY: true, rows, write: (text: string | Uint8Array) => written.push(String(text)) > 0 }
    const screen = new Screen(output, { isOverwritten })
    for (let i = 0; i < 2; i++) screen.show(LINES)
    return written
  }

  it('overwrites the table before, and omits what a terminal is too low for', () => {
    const [first, second] = shown(4, { isOverwritten: true })
    expect(first).to.equal('\r\x1b[J\x1b[?7ljob\nactor\na\n\x1b[?7h')
    expect(second).to.equal(`\x1b[3A${first}`)
  })

  it('omits nothing of a table that no other follows, and where the height of the terminal is not known', () => {
    const whole = `${LINES.join('\n')}\n`
    expect(shown(4, { isOverwritten: false })).to.deep.equal([whole, whole])
    expect(shown(0, { isOverwritten: true })).to.deep.equal([whole, whole])
  })
})
