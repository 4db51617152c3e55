import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs'

/** The processes of `arbalest train` and `arbalest crossover` whose command line has a word that begins with `text`, without their launchers. */
export function trainingsWith(text: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => isTraining(pid, text))
}

function isTraining(pid: number, text: string): boolean {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')
    return words[0]!.endsWith('node') && ['train', 'crossover'].includes(words[2]!) && words.some((word) => word.startsWith(text))
  } catch {
    return false
  }
}

/** The rank that a launcher has given to a process. */
export function rankOf(pid: number): number {
  const environment = readFileSync(`/proc/${pid}/environ`, 'utf8')
  return Number(/(?:OMPI_COMM_WORLD_RANK|PMIX_RANK|PMI_RANK)=(\d+)/.exec(environment)?.[1])
}

/** Where the code of a library in the memory of a process differs from that in the library's file: the first place of each of its mappings. */
export function changedCode(pid: number, library: string): readonly number[] {
  const mappings = readFileSync(`/proc/${pid}/maps`, 'utf8').matchAll(/^([0-9a-f]+)-([0-9a-f]+) r.xp ([0-9a-f]+) .*? (\/.*)$/gm)
  const code = [...mappings].filter(([, , , , path]) => path!.endsWith(library))
  if (code.length === 0) throw new Error(`process ${pid} has not loaded ${library}`)
  return code.flatMap(([, begin, end, offset, path]) => {
    const [from, to, at] = [begin, end, offset].map((text) => Number.parseInt(text!, 16)) as [number, number, number]
    const file = readFileSync(path!).subarray(at)
    const place = memoryOf(pid, from, to).findIndex((byte, i) => i < file.length && byte !== file[i])
    return place < 0 ? [] : [at + place]
  })
}

function memoryOf(pid: number, begin: number, end: number): Buffer {
  const bytes = Buffer.alloc(end - begin)
  const memory = openSync(`/proc/${pid}/mem`, 'r')
  try {
    readSync(memory, bytes, 0, bytes.length, begin)
  } finally {
    closeSync(memory)
  }
  return bytes
}
