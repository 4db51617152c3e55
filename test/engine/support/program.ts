import type { Program } from '../../../src/compiler/program.js'

/** The smallest program that runs: y = max(0, x) over (1, 4), one parameter that nobody trains. */
export function reluProgram(changes: Partial<Program> = {}): Program {
  const value = (id: number, name: string, offset: number, arena: 'activations' | 'weights', role: 'activation' | 'parameter') => ({
    id,
    name,
    role,
    shape: [1, 4],
    type: 'f32' as const,
    layout: 'plain',
    bytes: 16,
    placement: { tier: 'device' as const, arena, offset, from: 0, until: 0 }
  })
  return {
    name: 'relu',
    backend: 'reference',
    precision: 'f32',
    batch: 1,
    values: [
      value(0, 'x', 0, 'activations', 'activation'),
      value(1, 'y', 64, 'activations', 'activation'),
      value(2, 'w', 0, 'weights', 'parameter')
    ],
    segments: {
      load: [],
      forward: [
        {
          kind: 'relu',
          name: 'relu',
          inputs: [0],
          outputs: [1],
          attributes: {},
          scratch: { bytes: 0, offset: 0 },
          implementation: 'plain',
          flops: 4
        }
      ],
      backward: [],
      exchange: [],
      update: []
    },
    parameters: {
      parameters: [{ name: 'w', shape: [1, 4], type: 'f32', layout: 'plain', offset: 0, bytes: 64, canonical: 0 }],
      bytes: 64,
      elements: 4
    },
    arenas: { weights: 64, gradients: 0, statistics: 0, activations: 128, staged: 0 },
    named: { x: 0, y: 1 },
    ...changes
  }
}
