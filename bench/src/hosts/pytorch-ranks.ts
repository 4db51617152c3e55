import { tunedEnvironment, type Python } from '../python.js'
import type { Command } from '../side.js'
import type { Laboratory } from './laboratory.js'

/** PyTorch's usual port, where the ranks of a job meet. */
const PORT = 29500

/** A script of PyTorch on each of the first hosts of a laboratory, with one thread each, which meet by Gloo on the shaped links. Jobs at the same time have numbers of their own. */
export function pytorchRanks(
  laboratory: Laboratory,
  hosts: number,
  { program }: Python,
  args: readonly string[],
  job = 0
): readonly Command[] {
  return Array.from({ length: hosts }, (_, rank) => {
    const place = {
      RANK: String(rank),
      WORLD_SIZE: String(hosts),
      MASTER_ADDR: laboratory.address(0),
      MASTER_PORT: String(PORT + job),
      GLOO_SOCKET_IFNAME: 'eth0'
    }
    return laboratory.onHost(rank, { program, args, env: { ...tunedEnvironment(1), ...place } })
  })
}
