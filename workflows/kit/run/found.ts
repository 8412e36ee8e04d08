// What people find a run by in Temporal beside its subject: the names and uids of what it hosts, as many as Temporal takes. The journal finds the rest
// (docs/operating.md).

// Temporal's limit of an attribute is 2 KiB by default. Names of Kubernetes are ASCII.
const MOST_BYTES = 2000

/** As many of the names as fit, the first first; each once. */
export function fitting(names: readonly string[]): string[] {
  const fit: string[] = []
  let bytes = '[]'.length
  for (const name of new Set(names)) {
    bytes += `"${name}",`.length
    if (bytes > MOST_BYTES) return fit
    fit.push(name)
  }
  return fit
}
