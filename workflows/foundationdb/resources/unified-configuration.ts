// The configuration of fdb-kubernetes-monitor (image type unified): JSON with the arguments of fdbserver. Source:
// spec/foundationdb.md 4.12.

import { canonicalJson, fieldsOf, type JsonValue, readJson, writeJson } from '../../kit/index.ts'
import { type MonitorInput, type Parameter, processParameters } from './monitor-configuration.ts'

type Argument =
  | { readonly value: string }
  | { readonly type: 'Concatenate'; readonly values: readonly Argument[] }
  | { readonly type: 'Environment'; readonly source: string }
  | { readonly type: 'ProcessNumber'; readonly multiplier?: number; readonly offset?: number }
  | { readonly type: 'IPList'; readonly source: string; readonly ipFamily: number }

const NUMBER: Argument = { type: 'ProcessNumber' }

/** `runServers` is false until the database exists. @param version the version of FoundationDB that the Pods run. */
export function unifiedConfiguration(input: MonitorInput, version: string): string {
  const { connectionString = '', settings } = input
  const runServers = connectionString !== '' && settings.spec.buggify?.emptyMonitorConf !== true
  return writeJson({ version, ...(runServers ? {} : { runServers }), arguments: argumentsOf(input) })
}

/** Whether the monitor has the configuration. @param found as the monitor writes it to an annotation of its Pod, with the path of the program. */
export function isSameUnifiedConfiguration(found: string, wanted: string): boolean {
  const fields = Object.entries(annotatedFields(found)).filter(([name]) => name !== 'binaryPath')
  return canonicalJson(Object.fromEntries(fields)) === canonicalJson(annotatedFields(wanted))
}

/** Empty for a text that is no JSON: a user may have edited the annotation, and the monitor writes it again. */
function annotatedFields(text: string): Readonly<Record<string, JsonValue>> {
  try {
    // Each value that `readJson` returns is JSON.
    return fieldsOf(readJson(text)) as Readonly<Record<string, JsonValue>>
  } catch {
    return {}
  }
}

/**
 * The command line with which the monitor starts a process.
 *
 * @param process the number of the process in its Pod, from 1. @param values of the environment; `BINARY_DIR` is one of them.
 */
export function unifiedCommandLine(
  input: MonitorInput,
  process: number,
  values: Readonly<Record<string, string>>,
): string {
  const texts = argumentsOf(input).map((argument) => textFor(argument, process, values))
  return [`${values['BINARY_DIR'] ?? ''}/fdbserver`, ...texts.sort()].join(' ')
}

/** Each process has its own folder and ID, also if it is the only one. */
function argumentsOf(input: MonitorInput): readonly Argument[] {
  return processParameters({ ...input, servers: 2 }, 1).map((parameter) => argumentOf(parameter, input))
}

function textFor(argument: Argument, process: number, values: Readonly<Record<string, string>>): string {
  if (!('type' in argument)) return argument.value
  switch (argument.type) {
    case 'Concatenate':
      return argument.values.map((one) => textFor(one, process, values)).join('')
    case 'Environment':
      return values[argument.source] ?? ''
    case 'ProcessNumber':
      return String(process * (argument.multiplier ?? 1) + (argument.offset ?? 0))
    case 'IPList': {
      const isSix = argument.ipFamily === 6
      return (values[argument.source] ?? '').split(',').find((ip) => ip.includes(':') === isSix) ?? ''
    }
  }
}

function argumentOf([name, value]: Parameter, input: MonitorInput): Argument {
  const text = (begin: string, ...rest: readonly Argument[]): Argument => ({
    type: 'Concatenate',
    values: [{ value: `--${name}=${begin}` }, ...rest],
  })
  switch (name) {
    case 'public_address':
      return text('[', ...addressArguments('FDB_PUBLIC_IP', input))
    case 'listen_address':
      return text('[', ...addressArguments('FDB_POD_IP', input))
    case 'datadir':
      return text('/var/fdb/data/', NUMBER)
    case 'locality_process_id':
      return text('', { type: 'Environment', source: 'FDB_INSTANCE_ID' }, { value: '-' }, NUMBER)
    default:
      return value.startsWith('$')
        ? text('', { type: 'Environment', source: value.slice(1) })
        : { value: `--${name}=${value}` }
  }
}

const FIRST_PORTS = { tls: 4498, nonTLS: 4499 } as const

/** Without the first bracket: `<address>]:<port>[:tls]`, for TLS first. */
function addressArguments(source: string, { addresses, settings }: MonitorInput): readonly Argument[] {
  const { podIPFamily } = settings.routing
  const host: Argument =
    podIPFamily === undefined ? { type: 'Environment', source } : { type: 'IPList', source, ipFamily: podIPFamily }
  const kinds = (['tls', 'nonTLS'] as const).filter((kind) => addresses[kind])
  return kinds.flatMap((kind, at) => [
    ...(at === 0 ? [] : [{ value: ',[' }]),
    host,
    { value: ']:' },
    { type: 'ProcessNumber', offset: FIRST_PORTS[kind], multiplier: 2 } as const,
    ...(kind === 'tls' ? [{ value: ':tls' }] : []),
  ])
}
