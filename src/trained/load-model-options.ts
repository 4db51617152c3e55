import type { ModelFileOptions } from '../checkpoints/find-model.js'
import type { BackendName, Precision } from '../compiler/program.js'
import type { ReadModelOptions } from '../formats/import-options.js'

/** How `loadModel` reads a file, and where the model runs. */
export interface LoadModelOptions extends ReadModelOptions, ModelFileOptions {
  /** `cpu` by default. */
  readonly backend?: BackendName
  /** Of weights and activations in computations; `f32` by default. */
  readonly precision?: Exclude<Precision, 'f64'>
  /** Threads that compute a batch, 1 to 1,024; 1 by default. */
  readonly threads?: number
}
