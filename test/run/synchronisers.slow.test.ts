import '../support/whole-table.js'
import './synchronisers.test.js'
