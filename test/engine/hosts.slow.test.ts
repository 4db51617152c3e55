import '../support/whole-table.js'
import './hosts.test.js'
