import { seldom } from '../../support/seldom.js'

seldom.tested = true
await import('./spill.test.js')
