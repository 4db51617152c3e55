/** How often a long test repeats what it tests: as many times as the environment's variable of this name says, else `usual` times. */
export function countOf(variable: string, usual: number): number {
  const given = Number(process.env[variable] ?? usual)
  if (!Number.isSafeInteger(given) || given < 1)
    throw new Error(`${variable}: received ${process.env[variable]}; use a whole number of at least 1`)
  return given
}
