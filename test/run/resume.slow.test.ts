import '../support/whole-table.js'
import './resume.test.js'
