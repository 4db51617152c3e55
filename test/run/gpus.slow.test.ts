import '../support/whole-table.js'
import './gpus.test.js'
