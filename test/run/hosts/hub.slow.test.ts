import '../../support/whole-table.js'
import './hub.test.js'
