/** Modules of Node that are loaded where they are used, and not by `import 'arbalest'`: loading them takes longer than most of our own files. */
export const builtin = {
  childProcess: () => process.getBuiltinModule('node:child_process'),
  crypto: () => process.getBuiltinModule('node:crypto'),
  v8: () => process.getBuiltinModule('node:v8')
}
