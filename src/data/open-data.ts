import type { Dataset } from './dataset.js'
import { imageFolder } from './images/image-folder.js'
import type { ImageFolderOptions } from './images/image-options.js'
import { datasetNames, openDataset, type OpenDatasetOptions } from './open.js'

/** Where `openData` finds a data set, and how it reads images. */
export interface OpenDataOptions extends OpenDatasetOptions {
  /** How a folder of images is read. */
  readonly images?: ImageFolderOptions | undefined
}

/** A data set by its name, as `openDataset` has it, or a folder of images. Throws what these throw. */
export async function openData(nameOrFolder: string, { images, ...options }: OpenDataOptions = {}): Promise<Dataset> {
  return datasetNames.includes(nameOrFolder) ? openDataset(nameOrFolder, options) : imageFolder(nameOrFolder, images)
}
