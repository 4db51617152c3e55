import { join } from 'node:path'
import { settingsOf } from '../../src/options/settings.js'
import { refused } from '../support/codes.js'

describe('the address of a learner', () => {
  for (const address of ['file://elsewhere/learner.js', 'file://[', 'file:///a%2fb', 'data', 7, '', new URL('file:///nowhere/learner.js')])
    it(`is refused where it is ${JSON.stringify(address)}`, () =>
      refused('INVALID_OPTION', () => settingsOf({ model: 'mlp', learner: address as string }), 'learner: '))

  it('is refused with the place where no file is: a path begins at the working folder', () =>
    refused(
      'INVALID_OPTION',
      () => settingsOf({ model: 'mlp', learner: './mine.js' }),
      `there is no file ${join(process.cwd(), 'mine.js')}: name a module`
    ))

  for (const path of ['test', 'package.json/learner.js'])
    it(`is refused as no file where it is ${path}`, () =>
      refused(
        'INVALID_OPTION',
        () => settingsOf({ model: 'mlp', learner: path }),
        `there is no file ${join(process.cwd(), path)}: name a module`
      ))
})
