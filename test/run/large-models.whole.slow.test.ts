import { seldom } from '../support/seldom.js'

seldom.tested = true
await import('./large-models.test.js')
