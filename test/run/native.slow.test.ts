import '../support/whole-table.js'
import './native.test.js'
