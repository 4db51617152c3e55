import { fileURLToPath } from 'node:url'
import type { Times } from '../hosts/exchange.js'
import type { Laboratory } from '../hosts/laboratory.js'
import { answerOf, outputOf } from '../hosts/mpi.js'
import { pytorchRanks } from '../hosts/pytorch-ranks.js'
import { pythonsWithTorch, type Python } from '../python.js'

const GLOO = fileURLToPath(new URL('../../peers/gloo.py', import.meta.url))

/** A Python with PyTorch; undefined where there is none, with a line that says so. */
export async function pythonWithTorch(): Promise<Python | undefined> {
  try {
    return (await pythonsWithTorch())[0]
  } catch (error) {
    process.stderr.write(`hub: Gloo is left out: ${(error as Error).message}\n`)
    return undefined
  }
}

/** Seconds of each sum of the first hosts by PyTorch's all_reduce. */
export async function glooSums(
  python: Python,
  laboratory: Laboratory,
  { hosts, bytes, turns, seconds }: { readonly hosts: number; readonly bytes: number; readonly turns: number; readonly seconds: number }
): Promise<readonly number[]> {
  const [first, ...others] = pytorchRanks(laboratory, hosts, python, [GLOO, String(bytes), String(turns)])
  const told = await Promise.all([answerOf<Times>(first!, seconds), ...others.map((other) => outputOf(other, seconds))])
  return told[0].seconds
}
