import '../../support/whole-table.js'
import './spill.test.js'
