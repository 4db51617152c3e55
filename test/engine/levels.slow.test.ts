import '../support/whole-table.js'
import './levels.test.js'
