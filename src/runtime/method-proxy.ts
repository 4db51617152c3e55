/** An object that has every method: calling one calls `send` with its name. Functions are made once a name. */
export function methodProxy(send: (method: string, args: readonly unknown[]) => unknown): object {
  const made = new Map<string, (...args: unknown[]) => unknown>()
  return new Proxy(Object.create(null) as object, {
    get(_target, key) {
      // Without this an `await` on the object would send a message called `then`.
      if (typeof key === 'symbol' || key === 'then') return undefined
      let method = made.get(key)
      if (!method) made.set(key, (method = (...args) => send(key, args)))
      return method
    }
  })
}
