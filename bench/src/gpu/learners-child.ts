// Runs ../learners-child.ts, and writes an error as one line: a Side reports no more of a process that ends before it is ready.
function end(error: unknown): never {
  const code = error instanceof Error && 'code' in error ? `${String(error.code)}: ` : ''
  process.stderr.write(`${code}${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}

process.on('uncaughtException', end)
await import('../learners-child.js').catch(end)
