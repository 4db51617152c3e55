import { seldom } from '../support/seldom.js'

seldom.tested = true
await import('./chatter.test.js')
