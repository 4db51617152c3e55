import type { LabelledEncoding } from '../formats/encoding.js'
import type { Dataset, StoredDataset } from './dataset.js'
import type { ImageFolderOptions } from './images/image-options.js'
import type { ImageSource } from './images/image-source.js'
import type { ImageModel } from './images/read-image.js'
import type { MaskOptions } from './images/mask-options.js'
import type { MaskedImagesOptions } from './images/masked-images-options.js'
import type { CheckDataOptions, CheckedData } from './remote/check-data.js'
import type { GetDataOptions, GotFile } from './remote/get-data.js'
import type { InputSink, UnknownValues } from './model-inputs.js'
import { remoteNames } from './remote/sources.js'
import type { ReadTableOptions } from './tables/row-block.js'
import type { TableDataset } from './tables/table.js'
import type { TableDatasetOptions } from './tables/table-options.js'
import type { TextDatasetOptions } from './text.js'
import type { TextsDataset } from './texts/labelled-texts.js'
import type { TextsOptions } from './texts/texts-options.js'

// A program that imports this package starts without the readers of all kinds of files: each is loaded when it is first called for.

/**
 * A Dataset of a text whose tokens are its characters, or those of a tokenizer: the samples are consecutive windows of `context` tokens, and the target of each
 * token is the next one. Every epoch cuts the windows at another offset. `classNames` has the characters by token, in Unicode order.
 *
 * Throws INVALID_OPTION, DATA_NOT_FOUND if the file cannot be read, DATA_CORRUPT if it is not UTF-8.
 */
export async function datasetFromText(options: TextDatasetOptions): Promise<StoredDataset> {
  const { openText } = await import('./text.js')
  return openText(options)
}

/**
 * A Dataset of the rows of a table: `target` is predicted by the other columns. Numbers and dates are standardised, categories have a feature for each value that at least two
 * training rows have and one for all other values, and missing values have a feature of their own. `columns` tells what was found; `encoding` encodes new rows alike.
 *
 * The table is held in memory while it is read: at most 12 bytes a cell.
 *
 * Throws INVALID_OPTION, UNKNOWN_NAME for a column that it does not have, DATA_NOT_FOUND, DATA_CORRUPT, OUT_OF_MEMORY.
 */
export async function datasetFromTable(given: TableDatasetOptions): Promise<TableDataset> {
  const { openTable } = await import('./tables/table.js')
  return openTable(given)
}

/**
 * A Dataset of texts with classes, or numbers: the rows of a table with a column of texts and one of targets, or a folder with a folder of .txt files for each class (and, if it has
 * them, `train` and `test` above those). A sample is the first bytes of a text in UTF-8, or the first tokens of a tokenizer, each plus 1, and zeros behind its end.
 *
 * Throws INVALID_OPTION, UNKNOWN_NAME for a column that the table lacks, DATA_NOT_FOUND, DATA_CORRUPT, OUT_OF_MEMORY.
 */
export async function datasetFromTexts(given: TextsOptions): Promise<TextsDataset> {
  const { openTexts } = await import('./texts/labelled-texts.js')
  return openTexts(given)
}

/**
 * The rows of a table as a Dataset, all of them in its test set, by the encoding of a model that was trained on other rows; `options` are those of the file. Throws UNKNOWN_NAME for a column that the table lacks,
 * DATA_CORRUPT for a row with an unknown class or without a target, and what reading the table throws.
 */
export async function datasetByEncoding(
  file: string,
  encoding: LabelledEncoding,
  classNames: readonly string[] = [],
  options: ReadTableOptions = {}
): Promise<StoredDataset> {
  const { encodedDataset } = await import('./encoded-dataset.js')
  return encodedDataset(file, encoding, classNames, options)
}

/**
 * Reads a table's file as inputs of a model that was trained on other rows, some rows at a time; `options` are those of the file. Resolves with the values of categories that the model does not know, which count as rare ones.
 * Throws UNKNOWN_NAME for a column that the table lacks, DATA_CORRUPT for a value that its column cannot have, and what reading the table throws.
 */
export async function readModelInputs(
  file: string,
  encoding: LabelledEncoding,
  sink: InputSink,
  options: ReadTableOptions = {}
): Promise<readonly UnknownValues[]> {
  const { readInputs } = await import('./model-inputs.js')
  return readInputs(file, encoding, sink, options)
}

/**
 * A Dataset of image files, which are decoded during training. `path` has a folder `train` (or `training`) and a folder `test` (or `testing`, `val`,
 * `valid`, `validation`, `dev`, `eval`), in capitals or not, each with a folder for each class; or it has a folder for each class, and a share of the images is held out. Classes are
 * numbered in the order of their sorted names. Files are JPEG, PNG, WebP, GIF, TIFF or AVIF of any size.
 *
 * Random crops, flips and colours depend only on the job's seed and on the sample's position in the sequence of epochs, not on the thread
 * that decodes the image.
 *
 * Throws INVALID_OPTION, DATA_NOT_FOUND, and DATA_CORRUPT with the file or folder.
 */
export async function imageFolder(path: string, options: ImageFolderOptions = {}): Promise<Dataset> {
  const { openImageFolder } = await import('./images/image-folder.js')
  return openImageFolder(path, options)
}

/**
 * A Dataset of images and their masks, which say of each pixel what it shows; both are read during training. `images/a/b.jpg` has the mask `masks/a/b.png`: a PNG or another image without losses, upright as large as
 * the image. `images` may have a folder of training images and one of test images, as in `imageFolder`, and `masks` then has the same; else a share is held out. An image and its mask are cropped
 * and mirrored together; each pixel of a scaled mask is the nearest one.
 *
 * Throws INVALID_OPTION, DATA_NOT_FOUND, and DATA_CORRUPT with the file or folder.
 */
export async function maskedImages(options: MaskedImagesOptions): Promise<Dataset> {
  const { openMaskedImages } = await import('./images/masked-images.js')
  return openMaskedImages(options)
}

/** The image files of a folder and its subfolders, sorted by path. Throws DATA_NOT_FOUND if it cannot be read, DATA_CORRUPT if it has no image. */
export async function imagesIn(folder: string): Promise<readonly string[]> {
  const { imagesBelow } = await import('./images/image-files.js')
  return imagesBelow(folder)
}

/**
 * Reads an image (JPEG, PNG, WebP, GIF, AVIF, TIFF, SVG) as one sample of bytes (C, H, W), from a file, from its bytes, or from a stream of them: rotated as its EXIF data says, scaled and
 * cropped at the centre, in colour for 3 channels and in grey for 1 (the luminance that Pillow and torchvision give a colour), with transparency on white. For a model that was trained on a folder of images the crop is that of the images that it
 * was measured on; for a shape, and any other model, the image is scaled to cover H x W. Throws DATA_NOT_FOUND,
 * DATA_CORRUPT, and INVALID_OPTION for other shapes.
 */
export async function readImage(image: ImageSource, sampleOrModel: readonly number[] | ImageModel): Promise<Uint8Array> {
  const { imageSample } = await import('./images/read-image.js')
  return imageSample(image, sampleOrModel)
}

/**
 * Reads a mask as the classes of the pixels (H, W) of the image that `readImage(image, [3, H, W])` gives, for `labels` with `label: [H, W]`: each pixel is the nearest one of the mask, so
 * that no classes are mixed. A pixel's class is its shade of grey, or in a PNG with a palette its number there; `values` names other ones. Throws DATA_NOT_FOUND, DATA_CORRUPT for a file
 * that is no such mask and for a pixel of none of `values`, and INVALID_OPTION.
 */
export async function readMask(
  mask: ImageSource,
  shape: readonly [height: number, width: number],
  options: MaskOptions = {}
): Promise<Int32Array> {
  const { maskClasses } = await import('./images/read-mask.js')
  return maskClasses(mask, shape, options)
}

/**
 * Fetches the files of a published data set that are not there yet into a folder of its own below the data folder, checks their SHA-256, and unpacks archives. A download that was broken
 * off goes on where it ended. Throws UNKNOWN_NAME, INVALID_OPTION, DOWNLOAD_FAILED, DATA_CORRUPT for a file that is there and has another sum, WRITE_FAILED, ABORTED.
 */
export async function getData(name: string, options: GetDataOptions = {}): Promise<GotFile[]> {
  const { fetchData } = await import('./remote/get-data.js')
  return fetchData(name, options)
}

/**
 * Compares the files of published data sets, all of them if none is named, with their SHA-256, unpacked: in the folders in which `openDataset` looks for them, plain or compressed. Throws
 * UNKNOWN_NAME.
 */
export async function checkData(names: readonly string[] = remoteNames, options: CheckDataOptions = {}): Promise<CheckedData[]> {
  const { compareData } = await import('./remote/check-data.js')
  return compareData(names, options)
}
