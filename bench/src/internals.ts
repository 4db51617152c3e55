/**
 * What the bench takes from below the public API: the machine's peak, a Program's floating-point operations and an operator's time are nothing
 * that a training job needs to tell. Only the measuring of our own side imports this.
 */
export { engine } from '../../dist/src/engine/native.js'
export type { Handle, MachineDescription, OperatorProfile } from '../../dist/src/engine/contract.js'
export { compile } from '../../dist/src/compiler/compile.js'
export { SEGMENTS, type LoweringBackend, type Program } from '../../dist/src/compiler/program.js'
export { buildGraph } from '../../dist/src/model/graph-builder.js'
export { initialParameters } from '../../dist/src/model/initialise.js'
export { modelNamed } from '../../dist/src/model/zoo/index.js'
