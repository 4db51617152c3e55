/**
 * How hosts sum what they have, so that all of them get the sum. A run and the simulator mean the same by these words:
 *
 * - `sharded`: each host owns a part, sums what all send of it, and sends the sum to all.
 * - `racks`: a part has an owner in each rack. Owners add up the parts of their racks, one rack after another, and the sum comes back the same way.
 * - `ring`: the same with racks of one host each: parts go from host to host in the order of ranks, and come back. Where the ranks of a rack follow one another, it goes
 *   through each rack once.
 * - `hub`: a host of its own, without learners, sums all.
 */
export const EXCHANGES = ['sharded', 'racks', 'ring', 'hub'] as const

export type Exchange = (typeof EXCHANGES)[number]
