import '../support/whole-table.js'
import './races.test.js'
