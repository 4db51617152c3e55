/** A fenced block of code in a page for people. */
export interface Block {
  readonly page: string
  /** Of the page's file, from 1 on: where the code begins. */
  readonly line: number
  readonly language: string
  /** What stands behind the language: `not-run`, `compiled` (and not run) or `background`. */
  readonly mark: string | undefined
  /** The file that its first line names in a comment, as `// train.ts`; else one named after the line. */
  readonly file: string
  readonly code: string
}

/** All fenced blocks of a page, in their order. */
export function blocksOf(page: string, text: string): Block[] {
  const blocks: Block[] = []
  for (const { index, 1: language = '', 2: mark, 3: code = '' } of text.matchAll(/^```(\w*)[ \t]*(\S+)?\n(.*?)^```$/gms)) {
    const line = text.slice(0, index).split('\n').length + 1
    const named = /^(?:\/\/|#) ([\w.-]+\.(?:[mc]?[jt]s|py))\b/.exec(code)?.[1]
    blocks.push({ page, line, language, mark, code, file: named ?? `line-${line}.${language}` })
  }
  return blocks
}
