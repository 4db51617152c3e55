import '../support/whole-table.js'
import './blocks.test.js'
