import { seldom } from '../support/seldom.js'

seldom.tested = true
await import('./levels.test.js')
