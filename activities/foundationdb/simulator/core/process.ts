// One fdbserver as the simulation sees it, and which exclusions name it.

import { ipOf, withoutTls } from './connection-string.ts'
import type { ProcessClass } from './process-class.ts'

/** The description that a process registers with. */
export interface ProcessDescription {
  /** The ID in its data directory, 32 hexadecimal digits. */
  readonly id: string
  /** Public addresses, with `:tls` where they use TLS. The first one is its name. */
  readonly addresses: readonly [string, ...string[]]
  readonly processClass: ProcessClass
  /** Without the prefix `locality_`; `processid` is added. */
  readonly locality: Readonly<Record<string, string>>
  readonly commandLine: string
  readonly version: string
  readonly memoryBytes: number
  readonly storageMemoryBytes: number
  /** False if the process could not write its cluster file. */
  readonly clusterFileUpToDate: boolean
}

export interface SimulatedProcess {
  description: ProcessDescription
  /** Random text of this start: requests to kill name it. */
  readonly incarnation: string
  alive: boolean
  /** When it registered, in seconds of the clock. */
  startedAt: number
  /** When it was lost. Meaningful only while it is not alive. */
  lostAt: number
  /** Keys that it holds on disk. They outlive the process, and are lost with its data directory. */
  store: Map<string, string>
  /** True while it has the role `storage`. */
  storage: { readonly id: string; readonly since: number } | undefined
  /** When it lost the role `storage`. */
  storageEndedAt: number
}

export const nameOf = ({ description }: SimulatedProcess): string => withoutTls(description.addresses[0])

export const zoneOf = ({ description }: SimulatedProcess): string =>
  description.locality['zoneid'] ?? description.locality['processid'] ?? description.id

/** Whether the exclusion (`ip`, `ip:port` or `locality_KEY:VALUE`) names the process. */
export function isNamedBy({ description }: SimulatedProcess, exclusion: string): boolean {
  const locality = /^locality_([^:]+):(.*)$/.exec(exclusion)
  if (locality !== null) return description.locality[locality[1] ?? ''] === locality[2]
  return description.addresses.some((address) => ipOf(address) === exclusion || withoutTls(address) === exclusion)
}
