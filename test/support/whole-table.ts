// Imported before a file of tests, it has that file test its seldom cases too.
import { seldom } from './seldom.js'

seldom.tested = true
