// Connection strings as the tools of FoundationDB 7.1 read them: laxer than the operator's check.
// Source: fdb-recordings 02-cluster-file-errors, 09-coordinators.

export interface ConnectionString {
  readonly description: string
  /** May be empty: the tools accept it. */
  readonly id: string
  /** `host:port`, with `:tls` where the address uses TLS. At least one, all different. */
  readonly coordinators: readonly string[]
}

/** Returns undefined if the text is not a connection string. Skips comment lines and blanks at both ends. */
export function parseConnectionString(text: string): ConnectionString | undefined {
  const content = text
    .split('\n')
    .map((line) => line.replace(/#.*/, ''))
    .join('\n')
    .trim()
  const match = /^(\w+):([A-Za-z0-9]*)@(\S+)$/.exec(content)
  if (match === null) return undefined
  const [, description = '', id = '', list = ''] = match
  const coordinators = list.split(',')
  if (!coordinators.every(isCoordinatorAddress)) return undefined
  if (new Set(coordinators).size !== coordinators.length) return undefined
  return { description, id, coordinators }
}

/** `host:port`, `ip:port` or `[ip6]:port`, with or without `:tls`. */
export function isCoordinatorAddress(address: string): boolean {
  return /^(?:\[[0-9a-fA-F:.]+\]|[A-Za-z0-9._-]+):\d+(?::tls)?$/.test(address)
}

export function formatConnectionString({ description, id, coordinators }: ConnectionString): string {
  return `${description}:${id}@${coordinators.join(',')}`
}

/** The content of a cluster file that a tool writes. */
export function clusterFileText(connection: ConnectionString): string {
  return `# DO NOT EDIT!\n# This file is auto-generated, it is not to be edited by hand\n${formatConnectionString(connection)}\n`
}

/** The address without `:tls`, as `kill`, `exclude` and `setclass` name processes. */
export const withoutTls = (address: string): string => address.replace(/:tls$/, '')

/** The IP of an address. */
export const ipOf = (address: string): string => withoutTls(address).replace(/:\d+$/, '')
