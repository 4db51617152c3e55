import { readdirSync, readFileSync } from 'node:fs'

/** The processes of `arbalest train` whose command line has a word that begins with `text`, without their launchers. */
export function trainingsWith(text: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => isTraining(pid, text))
}

function isTraining(pid: number, text: string): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    return words[0]!.endsWith('node') && words[2] === 'train' && words.some((word) => word.startsWith(text))
  } catch {
    return false
  }
}

/** The rank that a launcher has given to a process. */
export function rankOf(pid: number): number {
  const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
  return Number(/(?:OMPI_COMM_WORLD_RANK|PMIX_RANK|PMI_RANK)=(\d+)/.exec(environment)?.[1])
}
