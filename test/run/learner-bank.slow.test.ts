import { seldom } from '../support/seldom.js'

seldom.tested = true
await import('./learner-bank.test.js')
