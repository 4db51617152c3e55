/** Learners of several hosts, or their places, in the order in which they meet: the first ones of all hosts by rank, then the second ones. */
export function inMeetingOrder(ofHosts: readonly (readonly number[])[]): readonly number[] {
  const most = Math.max(...ofHosts.map(({ length }) => length))
  return Array.from({ length: most }, (_, i) => ofHosts.flatMap((each) => each.slice(i, i + 1))).flat()
}
