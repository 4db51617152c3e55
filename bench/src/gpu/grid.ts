import { chosenCases, type Case } from '../cases.js'
import { invalidOption } from '../errors.js'

const LEARNERS = [1, 8, 2, 4, 16, 32]
const BATCHES: Readonly<Record<string, readonly number[]>> = {
  resnet32: [16, 8, 32, 64],
  lenet: [16, 8, 32, 64],
  vgg16: [16, 8, 32, 64],
  resnet50: [16, 32]
}

/** The kind of a filter's word; a case has one word of each kind. */
function kindOf(word: string): string {
  if (/^[bk]\d+$/.test(word)) return word[0]!
  return word === 'f32' || word === 'bf16' ? 'precision' : 'model'
}

/**
 * The cases of the whole comparison that match the filters, the most important first: every model at batch 16. The default precision is bfloat16.
 * Throws UNKNOWN_NAME, and INVALID_OPTION if no case matches.
 */
export function gridCases(filters: readonly string[]): readonly Case[] {
  const words = filters.flatMap((filter) => filter.split(/\s+/)).filter((word) => word !== '')
  // Refuses unknown words.
  chosenCases(words)
  const wanted = (kind: string): string[] => words.filter((word) => kindOf(word) === kind)
  const takes = (kind: string, word: string): boolean => wanted(kind).length === 0 || wanted(kind).includes(word)
  const precisions = wanted('precision').length > 0 ? wanted('precision') : ['bf16']
  const ranks = Math.max(...Object.values(BATCHES).map((batches) => batches.length))
  const cases = Array.from({ length: ranks }, (_, rank) =>
    Object.entries(BATCHES).flatMap(([model, batches]) => {
      const batch = batches[rank]
      if (batch === undefined || !takes('model', model) || !takes('b', `b${batch}`)) return []
      return LEARNERS.filter((count) => takes('k', `k${count}`)).flatMap((count) =>
        chosenCases([model, `b${batch}`, `k${count}`, ...precisions])
      )
    })
  ).flat()
  if (cases.length === 0) throw invalidOption('gpu full', words.join(' '), `its models are ${Object.keys(BATCHES).join(', ')}`)
  return cases
}
