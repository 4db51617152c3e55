import '../support/whole-table.js'
import './large-models.test.js'
