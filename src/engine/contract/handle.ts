/**
 * A thing in the engine by its number, which may be posted to another thread: it stays in the engine, is shared by all threads of the process, and
 * goes when every thread that holds it has released it or ended.
 */
export type Handle = number & { readonly __handle?: unique symbol }
