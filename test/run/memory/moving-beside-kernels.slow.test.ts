import { seldom } from '../../support/seldom.js'

seldom.tested = true
await import('./moving-beside-kernels.test.js')
