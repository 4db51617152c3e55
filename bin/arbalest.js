#!/bin/sh
':' //; while read -r name ARBALEST_IGNORED_SIGNALS; do [ "$name" = SigIgn: ] && break; done 2>/dev/null </proc/$$/status; export ARBALEST_IGNORED_SIGNALS; exec node "$0" "$@"
// The shell runs the line above, Node skips it. Node forgets which signals were ignored when it started, as SIGHUP is under nohup: the shell still knows.
import { existsSync } from 'node:fs'
import process from 'node:process'

const main = new URL('../dist/src/cli/main.js', import.meta.url)
if (existsSync(main)) {
  await import(main.href)
} else {
  process.stderr.write('INVALID_STATE: arbalest is not compiled yet (dist/src/cli/main.js is missing); run `npm run setup`\n')
  process.exitCode = 1
}
