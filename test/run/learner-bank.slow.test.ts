import '../support/whole-table.js'
import './learner-bank.test.js'
