import { readFile, stat } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import { messageOf, printable } from '../../errors.js'
import { didYouMeanFile } from '../../similar-files.js'
import { invalidFlag } from '../flag-values.js'
import { bytes } from '../text.js'

/** Bytes of a text; a model looks at far fewer. */
const MOST_BYTES = 16e6

/** A text without a space and with an ending, as names of files have it. */
const FILE_NAME = /^\S+\.[a-z]\w{1,7}$/i

export interface TextInput {
  readonly text: string
  /** Where it was read. */
  readonly file?: string
}

/** An input of `predict`: the text of the file in UTF-8 that it names, or itself. Throws INVALID_OPTION for a name that is mistyped. */
export async function textInput(input: string): Promise<TextInput> {
  const refusal = (fix: string) => invalidFlag('inputs', input, fix)
  const found = await stat(input).catch(() => undefined)
  if (!found) {
    const similar = FILE_NAME.test(basename(input)) ? didYouMeanFile(input, printable) : ''
    const isName = similar !== '' || (FILE_NAME.test(input) && extname(input) === '.txt')
    if (!isName) return { text: input }
    throw refusal(`there is no such file; name a file, or give a text${similar}`)
  }
  if (!found.isFile()) throw refusal('it is not a file; give a text, the file of a text, or a table')
  if (found.size > MOST_BYTES) throw refusal(`it has ${bytes(found.size)}; give a text of at most ${bytes(MOST_BYTES)}`)
  try {
    return { text: new TextDecoder('utf-8', { fatal: true }).decode(await readFile(input)), file: input }
  } catch (cause) {
    throw refusal(cause instanceof TypeError ? 'it is not text in UTF-8; convert it' : `it cannot be read (${messageOf(cause)})`)
  }
}
