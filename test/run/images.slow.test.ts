import '../support/whole-table.js'
import './images.test.js'
