import type { RuleModule } from './arbalest.js'

/** When gradients go to the others, and how the model comes back. */
export interface ExchangeOptions {
  readonly push: 'early' | 'late'
  readonly pull: 'whole' | 'bucket'
}

/** Synchronous SGD, which is parameter-server with slack 0, with its exchange as it is asked for. */
const exchangeRule: RuleModule<ExchangeOptions> = ({ push, pull }) => ({
  kind: 'synchronous',
  central: { kind: 'optimiser' },
  adopts: true,
  period: 1,
  from: 0,
  push,
  pull
})

export default exchangeRule
