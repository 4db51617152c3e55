/** A class of a sample, with its probability. */
export interface Classification {
  /** The class's number. */
  readonly class: number
  /** The class's name, or its number if the data had no names. */
  readonly name: string
  /** 0 to 1; the sum over all classes is 1. */
  readonly probability: number
}

/** The `top` likeliest classes of each sample, likeliest first, from logits (n, classes). Of equal ones the lower number comes first. */
export function classifications(
  logits: Float32Array,
  { classes, names, top }: { readonly classes: number; readonly names: readonly string[] | undefined; readonly top: number }
): Classification[][] {
  return Array.from({ length: logits.length / classes }, (_, sample) =>
    [...softmax(logits.subarray(sample * classes, (sample + 1) * classes))]
      .map((probability, index) => ({ class: index, name: names?.[index] ?? `${index}`, probability }))
      .sort((a, b) => b.probability - a.probability)
      .slice(0, top)
  )
}

/** In double precision. Subtracts the largest logit, so that no power overflows. */
function softmax(logits: Float32Array): Float64Array {
  const largest = logits.reduce((most, logit) => Math.max(most, logit), -Infinity)
  const powers = Float64Array.from(logits, (logit) => Math.exp(logit - largest))
  const sum = powers.reduce((total, power) => total + power, 0)
  return powers.map((power) => power / sum)
}
