// Our learners, as ../learners-child.ts has them. What ends them is said in one line: no more is told of a process that ends before it is ready.
function end(error: unknown): never {
  const code = error instanceof Error && 'code' in error ? `${String(error.code)}: ` : ''
  process.stderr.write(`${code}${error instanceof Error ? error.message : String(error)}\n`)
  process.exit(1)
}

process.on('uncaughtException', end)
await import('../learners-child.js').catch(end)
