import { external } from './text.js'

/**
 * Prints the warnings of the process in one line each, as other text from outside. Node.js would print them as they are, with its own number of the process
 * and advice about its flags. Nothing is printed where Node.js was told not to, as by NODE_NO_WARNINGS.
 */
export function printWarnings(): void {
  if (process.listenerCount('warning') === 0) return
  process.removeAllListeners('warning')
  process.on('warning', ({ message }) => process.stderr.write(`warning: ${external(message.replaceAll(/\s*\n\s*/g, ' '))}\n`))
}
