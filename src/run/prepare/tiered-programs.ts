import type { CompileOptions } from '../../compiler/compile.js'
import type { MovedVectors } from '../memory/need.js'
import type { RunPrograms } from './programs.js'

/** Compiles all programs of a run; `placed`: the layout of their parameters and the tier of their vectors, if that is known. */
export type CompileRun = (placed?: Pick<CompileOptions, 'parameters' | 'vectors'>) => Promise<RunPrograms>

/** The programs of a run by the tier in which their vectors lie; they share one parameter layout. */
export class TieredPrograms {
  readonly #onDevice: RunPrograms
  /** For vectors in the second tier all programs are others; they are compiled where nothing else fits. */
  #inSecondTier: RunPrograms | undefined
  readonly #compile: CompileRun

  private constructor(onDevice: RunPrograms, compile: CompileRun) {
    this.#onDevice = onDevice
    this.#compile = compile
  }

  static async compile(compile: CompileRun): Promise<TieredPrograms> {
    return new TieredPrograms(await compile(), compile)
  }

  /** Compiles those that there are not yet. */
  async compiledFor(moved: MovedVectors): Promise<RunPrograms> {
    if (moved === 'all') this.#inSecondTier ??= await this.#compile({ parameters: this.#onDevice.train.parameters, vectors: 'host' })
    return this.of(moved)
  }

  /** Those that have been compiled for these vectors in the second tier. */
  of(moved: MovedVectors): RunPrograms {
    return moved === 'all' ? this.#inSecondTier! : this.#onDevice
  }
}
