import type { SynchronousRule } from '../engine/contract.js'
import { RuleOptions } from './rule-options.js'

/**
 * Synchronous SGD: in every iteration the optimiser takes one step on the central model with the mean of all gradients, and the learners go on
 * from there. Gradients are summed in buckets while backward still works on the others.
 *
 * Chen et al., "Revisiting distributed synchronous SGD", 2016; the fused sum and step: Luo et al., "Parameter Hub", SoCC 2018.
 */
export function ssgd(given: object): SynchronousRule {
  new RuleOptions(given).done()
  return { kind: 'synchronous', central: { kind: 'optimiser' }, adopts: true, period: 1, from: 0 }
}
