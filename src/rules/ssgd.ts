import type { SynchronousRule } from '../engine/contract.js'
import { defineRule } from './rule.js'

/**
 * Synchronous SGD: in every iteration the optimiser takes one step on the central model with the mean of all gradients, and the learners continue
 * from there. Gradients are summed in buckets while the backward pass still computes the others.
 *
 * Chen et al., "Revisiting distributed synchronous SGD", 2016; the fused sum and step: Luo et al., "Parameter Hub", SoCC 2018.
 */
export const ssgd = defineRule({}, (): SynchronousRule => ({
  kind: 'synchronous',
  central: { kind: 'optimiser' },
  adopts: true,
  period: 1,
  from: 0
}))
