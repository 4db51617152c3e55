import { seldom } from '../support/seldom.js'

seldom.tested = true
await import('./inputs.test.js')
