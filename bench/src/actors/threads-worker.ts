import { expose } from 'threads/worker'
import { Counter } from './counter.js'

const counter = new Counter()
const exposed = {
  echo: (value: number): number => counter.echo(value),
  added: (): number => counter.added()
}

export type ThreadsCounter = typeof exposed

expose(exposed)
