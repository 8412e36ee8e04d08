// Reads the metrics of a process, like Prometheus.

/** Lines of text, as they were served. */
export type Scraped = string

/** @param log of the process, which says where it serves. */
export async function metricsOf(log: string): Promise<Scraped> {
  const [, host, port] = [...log.matchAll(/"health":"([^"]+)"|"healthPort":(\d+)/g)].at(-1) ?? []
  const address = host ?? (port === undefined ? undefined : `127.0.0.1:${port}`)
  if (address === undefined) throw new Error('the log of the process does not say where its health is served')
  const answer = await fetch(`http://${address}/metrics`)
  if (!answer.ok) throw new Error(`GET /metrics answers ${answer.status}`)
  return await answer.text()
}

/** Undefined: there is no such line. @param labels as they stand between the braces. */
export function valueOf(scraped: Scraped, name: string, labels = ''): number | undefined {
  const start = labels === '' ? `${name} ` : `${name}{${labels}} `
  const line = scraped.split('\n').find((one) => one.startsWith(start))
  return line === undefined ? undefined : Number(line.slice(start.length))
}
