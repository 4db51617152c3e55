import { expect } from 'chai'
import { bytes, count, duration, loss, percent, secondsLeft } from '../../src/cli/text.js'

describe('Figures for people', () => {
  it('count in thousands', () => expect([count(0), count(999.6), count(1234567)]).to.deep.equal(['0', '1,000', '1,234,567']))
  it('give shares in percent', () => expect([percent(0), percent(0.98765), percent(1)]).to.deep.equal(['0.00%', '98.77%', '100.00%']))
  it('show a loss that is no number', () => expect([loss(0.12345), loss(NaN), loss(Infinity)]).to.deep.equal(['0.1235', 'NaN', 'Infinity']))
  it('show a loss of any size in a few characters', () =>
    expect([1234567.891, 3.5286525671718206e31, -2e21].map(loss)).to.deep.equal(['1234567.8910', '3.529e+31', '-2.000e+21']))
  it('give durations as clocks do', () =>
    expect([0, 59.6, 61, 3599, 11229, Infinity].map(duration)).to.deep.equal(['0:00', '1:00', '1:01', '59:59', '3:07:09', '-:--']))
  it('give bytes in decimal units', () =>
    expect([0, 999, 1000, 12_345_678, 4e11].map(bytes)).to.deep.equal(['0 B', '999 B', '1.0 KB', '12.3 MB', '400 GB']))
  it('know what is left only when something is done', () => {
    expect(secondsLeft({ iteration: 0, iterations: 10, seconds: 0 })).to.equal(Infinity)
    expect(secondsLeft({ iteration: 4, iterations: 10, seconds: 2 })).to.equal(3)
  })
})
