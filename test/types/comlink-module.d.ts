/** The package's ES module has no types of its own; its UMD build, which has, must not be mixed with it. */
declare module 'comlink/dist/esm/comlink.mjs' {
  export * from 'comlink'
}
