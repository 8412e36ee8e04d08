// The settings of the sidecar: arguments and variables of its container (spec/foundationdb.md 4.14, 4.15).

import { isIPv4, isIPv6 } from 'node:net'
import { join } from 'node:path'
import { parseArgs } from 'node:util'

export interface SidecarSettings {
  /** The folder of the ConfigMap's files. */
  readonly inputFolder: string
  /** The folder that the main container reads. */
  readonly outputFolder: string
  /** Folders of the image. */
  readonly programFolder: string
  readonly libraryFolder: string
  readonly copyFiles: readonly string[]
  readonly copyBinaries: readonly string[]
  readonly copyLibraries: readonly string[]
  readonly requireNotEmpty: readonly string[]
  readonly inputMonitorConf: string | undefined
  /** Values of variables in the monitor configuration, by names without `$`. */
  readonly substitutions: Readonly<Record<string, string>>
  /** The version of the sidecar's image. */
  readonly ownVersion: string
  /** Whether the main container has the programs of another version. */
  readonly mustCopyBinaries: boolean
  /** Copy the files and exit, without a server. */
  readonly isInit: boolean
  readonly host: string
  readonly port: number
  readonly tls: SidecarTls | undefined
}

export interface SidecarTls {
  readonly certificateFile: string
  readonly keyFile: string
  readonly caFile: string
  readonly verifyPeers: string | undefined
}

type Env = Readonly<Record<string, string | undefined>>

const DEFAULT_VARIABLES = ['FDB_PUBLIC_IP', 'FDB_MACHINE_ID', 'FDB_ZONE_ID', 'FDB_INSTANCE_ID', 'FDB_POD_IP']
const DEFAULT_PORT = 8080

const LIST = { type: 'string', multiple: true } as const

const OPTIONS = {
  // The folder that replaces the file system of the container, and facts that a container knows by itself.
  root: { type: 'string', default: '/' },
  'pod-ip': { type: 'string', default: '' },
  'own-version': { type: 'string', default: '' },
  // The options of the sidecar of FoundationDB.
  'bind-address': { type: 'string' },
  'init-mode': { type: 'boolean', default: false },
  'input-dir': { type: 'string', default: '/var/input-files' },
  'output-dir': { type: 'string', default: '/var/output-files' },
  'main-container-conf-dir': { type: 'string', default: '/var/dynamic-conf' },
  'main-container-version': { type: 'string', default: '' },
  'public-ip-family': { type: 'string' },
  'input-monitor-conf': { type: 'string' },
  'copy-file': LIST,
  'copy-binary': LIST,
  'copy-library': LIST,
  'require-not-empty': LIST,
  'substitute-variable': LIST,
  tls: { type: 'boolean', default: false },
  'tls-certificate-file': { type: 'string' },
  'tls-key-file': { type: 'string' },
  'tls-ca-file': { type: 'string' },
  'tls-verify-peers': { type: 'string' },
} as const

/** @throws Error with a message for the user if an option is unknown or required and missing. */
export function readSettings(args: readonly string[], env: Env): SidecarSettings {
  const { values } = parseArgs({ args: [...args], options: OPTIONS })
  const outside = (path: string): string => join(values.root, path)
  const ownVersion = values['own-version']
  const mustCopyBinaries = values['main-container-version'] !== ownVersion
  const substitutions = readSubstitutions(values, env)
  substitutions['BINARY_DIR'] = mustCopyBinaries ? `${values['main-container-conf-dir']}/bin/${ownVersion}` : '/usr/bin'
  for (const name of values['substitute-variable'] ?? []) substitutions[name] ??= env[name] ?? ''
  const address = values['bind-address'] ?? `${bindHost(substitutions)}:${String(DEFAULT_PORT)}`
  const colon = address.lastIndexOf(':')
  return {
    inputFolder: outside(values['input-dir']),
    outputFolder: outside(values['output-dir']),
    programFolder: outside('/usr/bin'),
    libraryFolder: outside('/var/fdb/lib'),
    copyFiles: values['copy-file'] ?? [],
    copyBinaries: values['copy-binary'] ?? [],
    copyLibraries: values['copy-library'] ?? [],
    requireNotEmpty: values['require-not-empty'] ?? [],
    inputMonitorConf: values['input-monitor-conf'],
    substitutions,
    ownVersion,
    mustCopyBinaries,
    isInit: values['init-mode'],
    host: address.slice(0, colon).replace(/^\[(.*)\]$/, '$1'),
    port: Number(address.slice(colon + 1)),
    tls: values.tls ? readTls(values, env, outside) : undefined,
  }
}

function bindHost(substitutions: Readonly<Record<string, string>>): string {
  return substitutions['FDB_POD_IP'] || substitutions['FDB_PUBLIC_IP'] || ''
}

function readSubstitutions(
  values: { readonly 'pod-ip': string; readonly 'public-ip-family'?: string | undefined },
  env: Env,
): Record<string, string> {
  const found: Record<string, string> = Object.fromEntries(DEFAULT_VARIABLES.map((name) => [name, env[name] ?? '']))
  found['FDB_MACHINE_ID'] ||= env['HOSTNAME'] ?? ''
  found['FDB_ZONE_ID'] ||= found['FDB_MACHINE_ID']
  found['FDB_PUBLIC_IP'] ||= found['FDB_POD_IP'] || values['pod-ip']
  const family = values['public-ip-family']
  if (family === undefined) return found
  for (const name of ['FDB_PUBLIC_IP', 'FDB_POD_IP']) found[name] = selectAddress(name, found[name] ?? '', family)
  return found
}

/** Returns the first address of the family; IPv6 addresses in brackets. */
function selectAddress(name: string, list: string, family: string): string {
  if (list === '') return ''
  const isWanted = family === '6' ? isIPv6 : isIPv4
  const address = list.split(',').find((one) => isWanted(one))
  if (address === undefined) {
    throw new Error(`sidecar: ${name}: found '${list}'; expected at least one IPv${family} address`)
  }
  return family === '6' ? `[${address}]` : address
}

function readTls(values: Readonly<Record<string, unknown>>, env: Env, outside: (path: string) => string): SidecarTls {
  const file = (option: string, variable: string): string => {
    const path = values[option] ?? env[variable]
    if (typeof path === 'string' && path !== '') return outside(path)
    throw new Error(`sidecar: --${option} is missing; set it, or set the variable ${variable}`)
  }
  return {
    certificateFile: file('tls-certificate-file', 'FDB_TLS_CERTIFICATE_FILE'),
    keyFile: file('tls-key-file', 'FDB_TLS_KEY_FILE'),
    caFile: file('tls-ca-file', 'FDB_TLS_CA_FILE'),
    verifyPeers: (values['tls-verify-peers'] as string | undefined) ?? env['FDB_TLS_VERIFY_PEERS'],
  }
}
