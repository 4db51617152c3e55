import '../support/whole-table.js'
import './train.test.js'
