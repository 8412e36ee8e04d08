// IDs of process groups and the names of their objects. Source: spec/foundationdb.md 1.4.

import { sha256 } from '../../kit/index.ts'

export interface ProcessGroupID {
  /** Undefined: none. */
  readonly prefix: string | undefined
  readonly processClass: string
  readonly number: number
}

const FORM = /^(?:(.+)-)?([a-z]+(?:_[a-z]+)*)-(\d{1,10})$/
const MOST_NUMBER = 99999

/** Undefined for a text of another form. */
export function parseProcessGroupID(id: string): ProcessGroupID | undefined {
  const [, prefix, processClass, digits] = FORM.exec(id) ?? []
  return processClass === undefined ? undefined : { prefix, processClass, number: Number(digits) }
}

export function formatProcessGroupID({ prefix, processClass, number }: ProcessGroupID): string {
  return `${prefix === undefined || prefix === '' ? '' : `${prefix}-`}${processClass}-${number}`
}

/**
 * IDs for new process groups. The numbers look random and derive from the seed, so a repeated pass gets the same IDs.
 *
 * @param taken IDs that exist, and IDs that are still excluded in the database.
 * @param seed such as the cluster's UID.
 */
export function newProcessGroupIDs(
  { prefix, processClass }: Omit<ProcessGroupID, 'number'>,
  count: number,
  { taken, seed }: { readonly taken: Iterable<string>; readonly seed: string },
): readonly string[] {
  const all = new Set(taken)
  const created: string[] = []
  for (let attempt = 0; created.length < count; attempt++) {
    const digits = sha256(`${seed}/${processClass}/${attempt}`).slice(0, 8)
    const id = formatProcessGroupID({ prefix, processClass, number: (Number.parseInt(digits, 16) % MOST_NUMBER) + 1 })
    if (all.has(id)) continue
    all.add(id)
    created.push(id)
  }
  return created
}

/** The Pod of a process group; its Service has the same name. */
export function podName(clusterName: string, id: string): string {
  const parsed = parseProcessGroupID(id)
  if (parsed === undefined)
    throw new Error(`process group "${id}": the ID is invalid; expected an ID such as storage-1`)
  return `${clusterName}-${parsed.processClass.replaceAll('_', '-')}-${parsed.number}`
}

export function volumeClaimName(clusterName: string, id: string): string {
  return `${podName(clusterName, id)}-data`
}

export function configMapName(clusterName: string): string {
  return `${clusterName}-config`
}

export function headlessServiceName(clusterName: string): string {
  return clusterName
}

export function backupDeploymentName(backupName: string): string {
  return `${backupName}-backup-agents`
}
