import { Random } from '../data/random.js'
import { invalidOption } from '../errors.js'
import { check } from '../schema/faults.js'
import { group, option } from '../schema/group.js'
import { real, text, whole } from '../schema/values.js'
import type { Tokenizer } from '../formats/tokenizer/tokenizer.js'

/** How a model of texts writes. */
export interface GenerateOptions {
  /** Characters to write, or tokens of a model with a tokenizer; 200 by default. */
  readonly length?: number
  /** Logits are divided by it: below 1 likely characters become likelier, above 1 less so; 0 always takes the likeliest. 1 by default. */
  readonly temperature?: number
  /** Draws only among this many of the likeliest tokens (top-k sampling; Fan, Lewis and Dauphin, ACL 2018); among all by default. */
  readonly topK?: number
  /** Draws only among the fewest likeliest tokens, out of those of `topK`, whose probabilities add up to this share of theirs (nucleus sampling; Holtzman et al., ICLR 2020); 1 by default. */
  readonly topP?: number
  /** Writing ends where this text comes, and the text before it is returned. GPT-2 ends a text with `<|endoftext|>`. */
  readonly stop?: string
  /** Seeds the random choice; 0 by default. */
  readonly seed?: number
}

/** How a token is drawn. */
type Drawing = Required<Pick<GenerateOptions, 'temperature' | 'topP'>> & Pick<GenerateOptions, 'topK'>

const generateOptions = group({
  length: option(whole(), { default: 200 }),
  temperature: option(real({ min: 0 }), { default: 1 }),
  topK: option(whole({ min: 1 })),
  topP: option(real({ above: 0, max: 1 }), { default: 1 }),
  stop: option(text('the text before which writing ends')),
  seed: option(whole(), { default: 0 })
})

/** A model of texts, as `generate` uses it. */
export interface TextModel {
  /** The tokens of a prompt, at least one. Throws INVALID_OPTION. */
  encode(prompt: string): number[]
  decode(tokens: readonly number[]): string
  /** Whether a token may be written; every one if omitted. */
  has?(token: number): boolean
  /** The logits of the next token after these, which are at most `context` tokens. */
  next(tokens: Int32Array): Float32Array
  readonly context: number
}

/** Continues the prompt, token by token, each drawn by its probability. Throws INVALID_OPTION. */
export function generate(model: TextModel, prompt: string, options: GenerateOptions = {}): string {
  const { length, stop, seed, ...drawing } = check(generateOptions, options)
  if (typeof prompt !== 'string' || prompt === '') throw invalidOption('prompt', prompt, 'give at least one character')
  const tokens = model.encode(prompt)
  const start = tokens.length
  const random = new Random(seed)
  while (tokens.length < start + length) {
    const logits = allowed(model.next(Int32Array.from(tokens.slice(-model.context))), model)
    tokens.push(drawing.temperature === 0 ? highest(logits) : drawn(logits, drawing, random.between(0, 1)))
    const [before, ...rest] = stop === undefined ? [] : continuation(model, tokens, start).split(stop, 2)
    if (rest.length > 0) return before!
  }
  return continuation(model, tokens, start)
}

/** The text of the tokens from `start` on. Decoders take the first space of a text away: only after the prompt is it known whether there is one. */
function continuation(model: TextModel, tokens: readonly number[], start: number): string {
  const [before, all] = [model.decode(tokens.slice(0, start)), model.decode(tokens)]
  // What follows may change the prompt's own end, such as the first byte of a character.
  return all.startsWith(before) ? all.slice(before.length) : model.decode(tokens.slice(start))
}

/** Tokens that there are not, of a vocabulary that was padded, are never drawn. */
function allowed(logits: Float32Array, { has }: TextModel): Float32Array {
  return has ? logits.map((logit, token) => (has(token) ? logit : -Infinity)) : logits
}

/** Of a model whose tokens are characters. */
export function charactersOf(vocabulary: readonly string[]): Pick<TextModel, 'encode' | 'decode'> {
  return {
    encode: (prompt) => tokensOf(prompt, vocabulary),
    decode: (tokens) => tokens.map((token) => vocabulary[token]).join('')
  }
}

/** Of a model with a tokenizer. */
export function tokensBy(tokenizer: Tokenizer): Pick<TextModel, 'encode' | 'decode' | 'has'> {
  return {
    encode(prompt) {
      const tokens = tokenizer.encode(prompt)
      if (tokens.length === 0) throw invalidOption('prompt', prompt, 'give a text of which the tokenizer makes tokens')
      return tokens
    },
    decode: (tokens) => tokenizer.decode(tokens),
    has: (token) => tokenizer.has(token)
  }
}

function tokensOf(prompt: string, vocabulary: readonly string[]): number[] {
  return Array.from(prompt, (character) => {
    const token = vocabulary.indexOf(character)
    if (token < 0)
      throw invalidOption(
        'prompt',
        character,
        `the model was trained on a text without it; use the ${vocabulary.length} characters of that text`
      )
    return token
  })
}

function highest(logits: Float32Array): number {
  return logits.reduce((best, logit, token) => (logit > logits[best]! ? token : best), 0)
}

/** The first token at which the sum of the probabilities exceeds `share`. */
function drawn(logits: Float32Array, { temperature, topK, topP }: Drawing, share: number): number {
  const most = logits[highest(logits)]!
  const all = Array.from(logits, (logit) => Math.exp((logit - most) / temperature))
  const weights = topK === undefined && topP === 1 ? all : likeliest(all, topK, topP)
  let left = share * weights.reduce((sum, weight) => sum + weight, 0)
  for (const [token, weight] of weights.entries()) {
    left -= weight
    if (left < 0) return token
  }
  return highest(logits)
}

/** The weights of the tokens that may be drawn, 0 for the others. Of tokens with the same weight the first is the likelier. */
function likeliest(weights: readonly number[], topK: number | undefined, topP: number): number[] {
  const order = [...weights.keys()].sort((a, b) => weights[b]! - weights[a]!).slice(0, topK)
  const kept = weights.map(() => 0)
  let left = topP * order.reduce((sum, token) => sum + weights[token]!, 0)
  for (const token of order) {
    kept[token] = weights[token]!
    left -= weights[token]!
    if (left <= 0) break
  }
  return kept
}
