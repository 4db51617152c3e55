import '../../support/whole-table.js'
import './moving-beside-kernels.test.js'
