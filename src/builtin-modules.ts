/**
 * Modules of Node that few programs come to need. Loading them takes longer than most of our own files, so that they are loaded where they are used, and
 * not by `import 'arbalest'`.
 */
export const builtin = {
  childProcess: () => process.getBuiltinModule('node:child_process'),
  crypto: () => process.getBuiltinModule('node:crypto'),
  readline: () => process.getBuiltinModule('node:readline'),
  v8: () => process.getBuiltinModule('node:v8')
}
