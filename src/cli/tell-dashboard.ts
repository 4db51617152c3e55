/**
 * Where the run can be watched. With --json that is a line of its own, which no log has: the address has a secret. `job` is the number of the job that has the
 * page, where it is one of several.
 */
export function tellDashboard(url: string | undefined, json: boolean, job?: number): void {
  if (url === undefined) return
  const [member, prefix] = job === undefined ? [{}, ''] : [{ job }, `job ${job}: `]
  process.stdout.write(json ? `${JSON.stringify({ ...member, event: 'dashboard', url })}\n` : `${prefix}dashboard at ${url}\n`)
}
