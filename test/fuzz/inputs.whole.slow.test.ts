import '../support/whole-table.js'
import './inputs.test.js'
