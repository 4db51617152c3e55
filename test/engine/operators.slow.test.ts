import '../support/whole-table.js'
import './operators.test.js'
