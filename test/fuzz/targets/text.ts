import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { datasetFromText } from '../../../src/data/text.js'
import type { DatasetSpec } from '../../../src/engine/contract.js'
import type { Choice } from '../support/choice.js'
import { damaged } from '../support/damage.js'
import { junk } from '../support/junk.js'
import { refusingBy } from '../support/refusals.js'
import type { Target } from '../support/target.js'

const TEXT = Buffer.from('Aber, aber! Ça va? Γειά σου 世界 𝔘nd \u{1f600}\r\n\0'.repeat(6))

/** A text file, harmed, cut into windows of a length that is sensible or not. */
export function textTarget(folder: string): Target {
  const file = join(folder, 'text')
  return async (choice) => {
    writeFileSync(file, choice.happens(0.1) ? TEXT : damaged(TEXT, choice))
    const options = { file, context: lengthOf(choice), testFraction: choice.happens(0.9) ? 0.1 + choice.share() / 2 : junk(choice) }
    const { train, test, classes } = await refusingBy(['DATA_CORRUPT', 'INVALID_OPTION'], () => datasetFromText(options as never))
    for (const part of [train, test]) checkWindows(part, classes)
  }
}

function lengthOf(choice: Choice): unknown {
  return choice.happens(0.8) ? 1 + choice.below(20) : junk(choice)
}

function checkWindows({ count, sample, samples, stride }: DatasetSpec, classes: number): void {
  if (count < 1 || (count - 1) * stride! + sample[0]! + 1 > samples.length)
    throw new Error(`${count} windows of ${sample[0]} in ${samples.length} tokens`)
  const stranger = (samples as Int32Array).find((token) => !(token >= 0 && token < classes))
  if (stranger !== undefined) throw new Error(`token ${stranger} of ${classes}`)
}
