// What /readyz of a process answers.

/** @param log of the process; its address is in the line that says that it runs, of the newest start. @returns the status; 0 while nobody answers. */
export async function readiness(log: string): Promise<number> {
  const line = log.split('\n').findLast((one) => one.includes('is running"')) ?? '{}'
  const { health, healthPort } = JSON.parse(line) as { readonly health?: string; readonly healthPort?: number }
  const host = health ?? `127.0.0.1:${healthPort}`
  return await fetch(`http://${host}/readyz`).then(
    ({ status }) => status,
    () => 0,
  )
}
