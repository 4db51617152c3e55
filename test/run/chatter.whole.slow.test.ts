import '../support/whole-table.js'
import './chatter.test.js'
