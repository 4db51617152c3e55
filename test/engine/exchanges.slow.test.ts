import '../support/whole-table.js'
import './exchanges.test.js'
