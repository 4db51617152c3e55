#!/usr/bin/env node
import { existsSync } from 'node:fs'
import process from 'node:process'

const main = new URL('../dist/src/cli/main.js', import.meta.url)
if (existsSync(main)) {
  await import(main.href)
} else {
  process.stderr.write('INVALID_STATE: arbalest is not compiled yet (dist/src/cli/main.js is missing); run `npm run setup`\n')
  process.exitCode = 1
}
