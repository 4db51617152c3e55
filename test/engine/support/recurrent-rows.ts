import { activation, wide, type Port } from './operator-case.js'
import type { OperatorRow, Use } from './operator-table.js'
import * as sequence from './sequence-magnitudes.js'

/** Samples, positions, features. */
export type RecurrentExtents = readonly [number, number, number]

/** A length for each sequence: none, some, all, and more than there are, which are all. */
export const lengthsPort = (n: number, t: number): Port => ({ ...wide(n), draw: (u) => Math.floor(u * (t + 2)) })

/** Weights under which a state's rounding fades from position to position. */
const ofState = (rows: number, f: number): Port => ({ ...wide(rows, f), draw: (u) => (2 * u - 1) / Math.sqrt(f) })

/** Of as many gates; `kept` is what the gradient reads beside the four numbers that are kept of each feature. */
function cases(all: readonly RecurrentExtents[], gates: number, kept: (...shape: number[]) => Readonly<Record<string, Port>>): Use[] {
  return all.flatMap(([n, t, f]) =>
    [
      { reverse: 0, bias: true, padded: false },
      { reverse: 1, bias: false, padded: false },
      { reverse: 0, bias: false, padded: true },
      { reverse: 1, bias: true, padded: true }
    ].map(({ reverse, bias, padded }) => ({
      name: `${n}x${t}x${f}${reverse ? ' in reverse' : ''}${bias ? '' : ' without bias'}${padded ? ', padded' : ''}`,
      attributes: { reverse },
      inputs: {
        x: activation(n, t, gates * f),
        w: ofState(gates * f, f),
        b: bias ? wide(gates * f) : null,
        lengths: padded ? lengthsPort(n, t) : null
      },
      outputs: { y: activation(n, t, f), gates: activation(n, t, 4 * f), ...kept(n, t, f) },
      further: { gs: activation(n, t, gates * f) }
    }))
  )
}

/** Recurrent layers of these extents: in both directions, with a bias and without, whole and padded. */
export function recurrentRows(extents: readonly RecurrentExtents[]): readonly OperatorRow[] {
  return [
    {
      kind: 'lstm',
      magnitude: sequence.largest,
      cases: cases(extents, 4, (...shape) => ({ cells: wide(...shape), previous: activation(...shape) })),
      backward: [{ kind: 'lstmBackward', inputs: ['gates', 'cells', 'w', 'gy', 'lengths'], outputs: ['gx'], magnitude: sequence.largest }]
    },
    {
      kind: 'gru',
      magnitude: sequence.largest,
      cases: cases(extents, 3, (...shape) => ({ previous: activation(...shape) })),
      backward: [
        { kind: 'gruBackward', inputs: ['gates', 'previous', 'w', 'gy', 'lengths'], outputs: ['gx', 'gs'], magnitude: sequence.largest }
      ]
    }
  ]
}
