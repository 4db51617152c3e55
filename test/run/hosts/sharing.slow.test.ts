import '../../support/whole-table.js'
import './sharing.test.js'
