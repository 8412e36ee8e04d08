// The configuration of fdbmonitor (image type split), and the command lines of the processes that it starts. Source:
// spec/foundationdb.md 4.11; recording 20.
//
//   M1. A parameter is one line: validation rejects values with line breaks.

import type { ClusterSettings } from '../model/cluster-settings.ts'
import { type AddressKinds, addressesOf } from '../database/process-address.ts'
import { processSettings } from './process-settings.ts'

export interface MonitorInput {
  readonly settings: ClusterSettings
  readonly processClass: string
  /** The number of processes in the Pod. */
  readonly servers: number
  /** Undefined or empty: the database does not exist yet. */
  readonly connectionString: string | undefined
  /** `status.requiredAddresses`. */
  readonly addresses: AddressKinds
  /** `status.hasListenIPsForAllPods`. */
  readonly hasListenIPs: boolean
}

const DATA = '/var/fdb/data'
const LOGS = '/var/log/fdb-trace-logs'

/** Names of parameters that Pawl sets, or that change what fdbmonitor runs; a user must not set them. */
export const PROTECTED_PARAMETERS: ReadonlySet<string> = new Set([
  ...[
    'command',
    'cluster_file',
    'seed_cluster_file',
    'public_address',
    'listen_address',
    'class',
    'logdir',
    'loggroup',
  ],
  ...['datadir', 'locality_instance_id', 'locality_machineid', 'locality_zoneid', 'locality_process_id'],
  ...['locality_dns_name', 'restart_delay', 'initial_restart_delay', 'restart_backoff', 'restart_delay_reset_interval'],
  ...['delete_envvars', 'kill_on_configuration_change', 'disable_lifecycle_logging', 'user', 'group'],
])

/** Empty without a connection string. */
export function monitorConfiguration(input: MonitorInput): string {
  const { connectionString = '', servers, settings } = input
  if (connectionString === '') return ''
  const general = ['[general]', 'kill_on_configuration_change = false', 'restart_delay = 60']
  const count = settings.spec.buggify?.emptyMonitorConf === true ? 0 : servers
  const sections = Array.from({ length: count }, (_, at) => [
    `[fdbserver.${at + 1}]`,
    'command = $BINARY_DIR/fdbserver',
    ...processParameters(input, at + 1).map(([name, value]) => `${name} = ${value}`),
  ])
  return [...general, ...sections.flat()].join('\n')
}

/** The variable with the zone: `FDB_ZONE_ID`, or the variable of `faultDomain.valueFrom`. */
export function zoneVariable({ faultDomain: { valueFrom } }: ClusterSettings): string {
  return valueFrom.startsWith('$') ? valueFrom.slice(1) : 'FDB_ZONE_ID'
}

/** A parameter of fdbserver: name and value. */
export type Parameter = readonly [name: string, value: string]

/** The parameters of a process, with variables. @param process the number of the process in its Pod, from 1. */
export function processParameters(input: MonitorInput, process: number): readonly Parameter[] {
  const { settings, processClass, servers } = input
  const { spec, logGroup } = settings
  const { customParameters } = processSettings(spec, processClass)
  const isOne = servers === 1
  const peerRules = settings.mainContainer.peerVerificationRules ?? ''
  const hasOwnHall = customParameters.some((one) => nameOf(one) === 'locality_data_hall')
  return [
    ['cluster_file', `${DATA}/fdb.cluster`],
    ['seed_cluster_file', '/var/dynamic-conf/fdb.cluster'],
    ['public_address', addressList('$FDB_PUBLIC_IP', process, input.addresses)],
    ['class', processClass],
    ['logdir', LOGS],
    ['loggroup', logGroup],
    ['datadir', isOne ? DATA : `${DATA}/${process}`],
    ...(isOne ? [] : [['locality_process_id', `$FDB_INSTANCE_ID-${process}`] as const]),
    ['locality_instance_id', '$FDB_INSTANCE_ID'],
    ['locality_machineid', '$FDB_MACHINE_ID'],
    ['locality_zoneid', `$${zoneVariable(settings)}`],
    ...(input.hasListenIPs && wantsListenAddress(settings)
      ? [['listen_address', addressList('$FDB_POD_IP', process, input.addresses)] as const]
      : []),
    ...given('tls_verify_peers', peerRules),
    ...customParameters.map(parameterOf),
    ...given('locality_dcid', spec.dataCenter),
    ...(hasOwnHall ? [] : given('locality_data_hall', spec.dataHall)),
    ...(settings.routing.defineDNSLocalityFields ? [['locality_dns_name', '$FDB_DNS_NAME'] as const] : []),
  ]
}

/** Whether processes listen on the address of their Pod, which differs from their public address behind a Service. */
export function wantsListenAddress({ routing, useExplicitListenAddress }: ClusterSettings): boolean {
  return useExplicitListenAddress || routing.publicIPSource === 'service'
}

/**
 * The command line with which fdbmonitor starts the process: the arguments in alphabetical order.
 *
 * @param substitutions values of variables, as the sidecar of the Pod reports them; `BINARY_DIR` is one of them.
 */
export function expectedCommandLine(
  input: MonitorInput,
  process: number,
  substitutions: Readonly<Record<string, string>>,
): string {
  const replaced = substituter(substitutions)
  const args = processParameters(input, process).map(([name, value]) => `--${name}=${replaced(value)}`)
  return [`${replaced('$BINARY_DIR')}/fdbserver`, ...args.sort()].join(' ')
}

/** Replaces `$NAME` as the sidecar does; variables without a value stay. Longer names first, so that no name hides another. */
export function substitute(text: string, substitutions: Readonly<Record<string, string>>): string {
  return substituter(substitutions)(text)
}

function substituter(substitutions: Readonly<Record<string, string>>): (text: string) => string {
  const names = Object.keys(substitutions).sort((one, other) => other.length - one.length)
  return (text) =>
    text.includes('$')
      ? names.reduce((now, name) => now.replaceAll(`$${name}`, () => substitutions[name] ?? ''), text)
      : text
}

/** Whether two command lines have the same program and arguments, in any order. */
export function isSameCommandLine(one: string, other: string): boolean {
  const parts = (line: string) => {
    const [program, ...args] = line.trim().split(/\s+(?=--)/)
    return [program, ...args.sort()].join('\n')
  }
  return one === other || parts(one) === parts(other)
}

function addressList(host: string, process: number, kinds: AddressKinds): string {
  return addressesOf('', process, kinds)
    .map(({ port, isTls }) => `${host}:${port ?? ''}${isTls ? ':tls' : ''}`)
    .join(',')
}

function parameterOf(text: string): Parameter {
  const at = text.indexOf('=')
  return [nameOf(text), text.slice(at + 1).trim()]
}

function nameOf(text: string): string {
  return (text.split('=', 1)[0] ?? '').trim()
}

function given(name: string, value: string | undefined): readonly Parameter[] {
  return value === undefined || value === '' ? [] : [[name, value]]
}
