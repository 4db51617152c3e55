import '../support/whole-table.js'
import './accessibility.test.js'
