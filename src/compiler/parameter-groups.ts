import { invalidOption, unknownName } from '../errors.js'
import { layersOf, namesParameter, parametersOf, type Graph, type Value } from '../model/graph.js'

/** Parameters that the optimiser steps by numbers of their own, as PyTorch's parameter groups. */
export interface ParameterGroup {
  /** Names of parameters or layers, where `*` stands for any characters; or `vectors`: all parameters of one dimension, which are the biases and what normalisations scale and shift by. */
  readonly parameters: 'vectors' | readonly string[]
  /** Instead of the optimiser's. */
  readonly weightDecay?: number
  /** The learning rate is so many times that of the run, whatever its schedule. */
  readonly learningRate?: { readonly factor: number }
}

/**
 * The graph whose parameters know their group: the first one that names them. Throws UNKNOWN_NAME for a name that no parameter has, and INVALID_OPTION for a group whose parameters are all in
 * earlier ones: it would have no effect.
 */
export function withGroups(graph: Graph, groups: readonly ParameterGroup[]): Graph {
  if (groups.length === 0) return graph
  const parameters = parametersOf(graph)
  for (const [i, { parameters: names }] of groups.entries())
    if (names !== 'vectors')
      for (const name of names)
        if (!parameters.some((parameter) => namesParameter(name)(parameter.name)))
          throw unknownName(`optimiser.groups[${i}].parameters`, name, layersOf(parameters))
  for (const [i, group] of groups.entries()) {
    const own = parameters.filter((parameter) => isIn(group, parameter))
    if (own.length > 0 && own.every((parameter) => groups.slice(0, i).some((earlier) => isIn(earlier, parameter))))
      throw invalidOption(`optimiser.groups[${i}]`, group, 'leave it out, or put it first: each of its parameters is in a group before it')
  }
  const groupOf = (value: Value): number => groups.findIndex((group) => isIn(group, value)) + 1
  return {
    ...graph,
    values: graph.values.map((value) => {
      const group = value.role === 'parameter' ? groupOf(value) : 0
      return group > 0 ? { ...value, group } : value
    })
  }
}

function isIn({ parameters }: ParameterGroup, { name, shape }: Value): boolean {
  return parameters === 'vectors' ? shape.length === 1 : parameters.some((pattern) => namesParameter(pattern)(name))
}
