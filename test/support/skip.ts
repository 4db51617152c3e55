/** Skips the test that runs, with a reason that the test run's last lines repeat. */
export function skip(context: Mocha.Context, reason: string): never {
  const test: (Mocha.Runnable & { skipReason?: string }) | undefined = context.test
  if (test) test.skipReason = reason
  return context.skip()
}
