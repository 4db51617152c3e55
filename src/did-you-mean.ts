/** Those of the known names that are closest to a mistyped one; none where more than a third of the letters differ. */
export function similarNames(typed: string, known: Iterable<string>): string[] {
  const wanted = plain(typed)
  const distances = [...known].map((name) => ({ name, distance: distance(wanted, plain(name)) }))
  const least = Math.min(...distances.map((each) => each.distance))
  if (least > Math.max(1, Math.floor(wanted.length / 3)) || least >= wanted.length) return []
  return distances.filter((each) => each.distance === least).map(({ name }) => name)
}

/** The question at the end of a fault's fix; an empty text if no name is similar. */
export function didYouMean(typed: unknown, known: Iterable<string>): string {
  const names = typeof typed === 'string' ? similarNames(typed, known) : []
  return names.length > 0 && names.length <= 3 ? `; did you mean ${names.join(' or ')}?` : ''
}

/** Without case and separators, so that weight_decay is as close to weightDecay as it looks. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[-_ ]/g, '')
}

/** Insertions, deletions, substitutions and swaps of neighbours that make one text of the other: the optimal string alignment distance. */
function distance(a: string, b: string): number {
  let [twoAbove, above] = [[] as number[], Array.from({ length: b.length + 1 }, (_, j) => j)]
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = above[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const swapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      row.push(Math.min(substitution, above[j]! + 1, row[j - 1]! + 1, ...(swapped ? [twoAbove[j - 2]! + 1] : [])))
    }
    ;[twoAbove, above] = [above, row]
  }
  return above[b.length]!
}
