import '../support/whole-table.js'
import './crossover.test.js'
