// Addresses of processes and names of exclusions. Form: `host:port[:tls][(fromHostname)]`; IPv6 hosts are in brackets.
// Source: spec/foundationdb.md 1.4, 6.7.

export interface ProcessAddress {
  /** An IP address without brackets, or a host name. */
  readonly host: string
  /** Undefined: the address matches all processes of the host. */
  readonly port: number | undefined
  readonly isTls: boolean
  /** The database resolved the address from a host name. */
  readonly isFromHostname: boolean
}

const FORM =
  /^(?:\[([0-9A-Fa-f:.]+)\]|([0-9A-Za-z](?:[-0-9A-Za-z.]*[0-9A-Za-z])?))(?::(\d{1,5}))?(:tls)?(\(fromHostname\))?$/
const MOST_PORT = 65535

/** Undefined for a text of another form. */
export function parseAddress(text: string): ProcessAddress | undefined {
  const [, six, host = six, digits, tls, fromHostname] = FORM.exec(text) ?? []
  if (host === undefined) return undefined
  const port = digits === undefined ? undefined : Number(digits)
  if (port !== undefined && (port < 1 || port > MOST_PORT)) return undefined
  if (port === undefined && tls !== undefined) return undefined
  return { host, port, isTls: tls !== undefined, isFromHostname: fromHostname !== undefined }
}

/** The text without `(fromHostname)`, as commands accept it. */
export function formatAddress({ host, port, isTls }: Omit<ProcessAddress, 'isFromHostname'>): string {
  const shown = host.includes(':') ? `[${host}]` : host
  return `${shown}${port === undefined ? '' : `:${port}`}${isTls ? ':tls' : ''}`
}

/** Without `:tls`, as `kill`, `exclude` and `include` need it. */
export function withoutFlags(address: ProcessAddress): string {
  return formatAddress({ ...address, isTls: false })
}

/** The host alone, as in exclusions. */
export function hostOf(address: ProcessAddress): string {
  return formatAddress({ host: address.host, port: undefined, isTls: false })
}

const FIRST_TLS_PORT = 4498
const FIRST_PORT = 4499

/** @param process the number of the process in its Pod, from 1. */
export function portOf(process: number, isTls: boolean): number {
  return (isTls ? FIRST_TLS_PORT : FIRST_PORT) + 2 * process
}

/** Which addresses processes have; both during a change to or from TLS. */
export interface AddressKinds {
  readonly tls: boolean
  readonly nonTLS: boolean
}

/** The addresses of a process, TLS first. */
export function addressesOf(host: string, process: number, { tls, nonTLS }: AddressKinds): readonly ProcessAddress[] {
  const address = (isTls: boolean): ProcessAddress => ({
    host,
    port: portOf(process, isTls),
    isTls,
    isFromHostname: false,
  })
  return [...(tls ? [address(true)] : []), ...(nonTLS ? [address(false)] : [])]
}

const INSTANCE_LOCALITY = 'locality_instance_id'

/** The name by which a process group is excluded. */
export function localityExclusion(processGroupID: string): string {
  return `${INSTANCE_LOCALITY}:${processGroupID}`
}

/** The ID of the process group of a locality exclusion; undefined for other exclusions. */
export function excludedProcessGroup(exclusion: string): string | undefined {
  return exclusion.startsWith(`${INSTANCE_LOCALITY}:`) ? exclusion.slice(INSTANCE_LOCALITY.length + 1) : undefined
}
