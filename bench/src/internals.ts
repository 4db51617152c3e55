/**
 * The parts below the public API that measure our own side: the machine's peak, a Program's floating-point operations, the time of an operator. No user
 * of the public API needs them.
 */
export { engine } from '../../dist/src/engine/native.js'
export { endHosts, openHosts } from '../../dist/src/hosts/hosts-link.js'
export { chooseExchange, linkCosts } from '../../dist/src/hosts/exchange/choose-exchange.js'
export type { Racks, RunExchange } from '../../dist/src/hosts/exchange/racks.js'
export { hostsLevel } from '../../dist/src/run/hosts/hosts-level.js'
export { builtMpi } from '../../dist/src/engine/mpi.js'
export { isFirstProcess } from '../../dist/src/hosts/launcher.js'
export { launcherOf } from '../../dist/src/hosts/launcher-program.js'
export type { Handle, LinkFigures, MachineDescription, OperatorProfile } from '../../dist/src/engine/contract.js'
export { compile } from '../../dist/src/compiler/compile.js'
export { loweringBackend } from '../../dist/src/engine/lowering.js'
export type { MemoryLimit } from '../../dist/src/compiler/tiers/fit.js'
export type { RepeatableStep, Restorations } from '../../dist/src/compiler/tiers/restore.js'
export { restorationOf } from '../../dist/src/compiler/tiers/restoration.js'
export type { MeasuredStep } from '../../dist/src/compiler/tiers/simulate.js'
export { SEGMENTS, type LoweringBackend, type Program } from '../../dist/src/compiler/program.js'
export { buildGraph, predictionGraph } from '../../dist/src/model/graph-builder.js'
export { runSpeeds, transferSpeed } from '../../dist/src/run/speeds.js'
export { initialParameters } from '../../dist/src/model/initialise.js'
export { modelNamed } from '../../dist/src/model/zoo/index.js'
