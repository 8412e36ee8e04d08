// The settings of the connection to Temporal: address, TLS, API key. Flags override the environment; Temporal's own tools read the same variables.
// docs/guides/secure.md describes them.

import { readFileSync } from 'node:fs'

import type { Config, TemporalEnvironment } from './config.ts'
import type { FlagTable, FlagValues } from './flags.ts'
import { UsageError } from './usage-error.ts'

export const TEMPORAL_FLAGS = {
  'temporal-namespace': {
    takes: '<name>',
    reads: 'text',
    text: 'namespace in Temporal',
    default: '$PAWL_TEMPORAL_NAMESPACE, else $TEMPORAL_NAMESPACE, else default',
  },
  'temporal-tls': {
    takes: '<yes-or-no>',
    reads: 'text',
    text: 'whether to connect to Temporal over TLS',
    default: '$TEMPORAL_TLS, else yes when any of the following is given',
  },
  'temporal-tls-ca': {
    takes: '<file>',
    reads: 'text',
    text: "PEM of the authority of Temporal's certificate",
    default: "$TEMPORAL_TLS_SERVER_CA_CERT_PATH, else the system's authorities",
  },
  'temporal-tls-server-name': {
    takes: '<name>',
    reads: 'text',
    text: "the name that Temporal's certificate has",
    default: '$TEMPORAL_TLS_SERVER_NAME, else the host of the address',
  },
  'temporal-tls-cert': {
    takes: '<file>',
    reads: 'text',
    text: "PEM of Pawl's own certificate, for mTLS",
    default: '$TEMPORAL_TLS_CLIENT_CERT_PATH',
  },
  'temporal-tls-key': {
    takes: '<file>',
    reads: 'text',
    text: 'PEM of its key',
    default: '$TEMPORAL_TLS_CLIENT_KEY_PATH',
  },
  'temporal-api-key-file': {
    takes: '<file>',
    reads: 'text',
    text: 'file of the API key; Pawl reads it again after a change',
    default: '$PAWL_TEMPORAL_API_KEY_FILE; or the key itself in $TEMPORAL_API_KEY',
  },
} as const satisfies FlagTable

export interface TemporalTarget {
  /** `host:port`. */
  readonly address: string
  readonly namespace: string
  /** Undefined: no TLS. */
  readonly tls?: TlsFiles | undefined
  readonly apiKey?: ApiKey | undefined
}

/** Paths of PEM files. */
export interface TlsFiles {
  readonly ca?: string | undefined
  readonly serverName?: string | undefined
  readonly pair?: { readonly cert: string; readonly key: string } | undefined
}

/** A file that may change, or the key itself. */
export type ApiKey = { readonly path: string } | { readonly key: string }

type Given = FlagValues<typeof TEMPORAL_FLAGS>

/** @throws UsageError with the name of the flag, the actual value and the expected value. */
export function temporalTarget(address: string, flags: Given, config: Config): TemporalTarget {
  const namespace = flags['temporal-namespace'] ?? config.temporalNamespace
  const apiKey = apiKeyOf(flags, config.temporal)
  const files = tlsFilesOf(flags, config.temporal)
  const isRequested = apiKey !== undefined || Object.values(files).some((value) => value !== undefined)
  const isOn = yesOrNo(flags['temporal-tls'] ?? config.temporal.tls) ?? isRequested
  if (!isOn && apiKey !== undefined)
    throw new UsageError(
      '--temporal-tls: found no together with an API key; expected yes, because the key must not be sent in plain text',
    )
  return { address, namespace, tls: isOn ? files : undefined, apiKey }
}

function apiKeyOf(flags: Given, environment: TemporalEnvironment): ApiKey | undefined {
  const path = flags['temporal-api-key-file'] ?? environment.apiKeyPath
  if (path !== undefined) return { path }
  return environment.apiKey === undefined ? undefined : { key: environment.apiKey }
}

function tlsFilesOf(flags: Given, environment: TemporalEnvironment): TlsFiles {
  return {
    ca: flags['temporal-tls-ca'] ?? environment.caPath,
    serverName: flags['temporal-tls-server-name'] ?? environment.serverName,
    pair: pairOf(
      flags['temporal-tls-cert'] ?? environment.clientCertPath,
      flags['temporal-tls-key'] ?? environment.clientKeyPath,
    ),
  }
}

function pairOf(cert: string | undefined, key: string | undefined): TlsFiles['pair'] {
  if (cert !== undefined && key !== undefined) return { cert, key }
  if (cert === undefined && key === undefined) return undefined
  const [given, missing] = cert === undefined ? ['key', 'cert'] : ['cert', 'key']
  throw new UsageError(`--temporal-tls-${missing} is missing; --temporal-tls-${given} needs it`)
}

function yesOrNo(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined
  if (text === 'yes' || text === 'true') return true
  if (text === 'no' || text === 'false') return false
  throw new UsageError(`--temporal-tls: found "${text}"; expected yes or no`)
}

/**
 * Options for `Connection.connect` and `NativeConnection.connect`; reads the files.
 *
 * @throws with the path of a file that cannot be read.
 */
export function connectionOptions({ address, tls, apiKey }: TemporalTarget) {
  return {
    address,
    ...(tls !== undefined && { tls: tlsOptions(tls) }),
    ...(apiKey !== undefined && { apiKey: readApiKey(apiKey) }),
  }
}

function tlsOptions({ ca, serverName, pair }: TlsFiles) {
  return {
    ...(serverName !== undefined && { serverNameOverride: serverName }),
    ...(ca !== undefined && { serverRootCACertificate: readFileSync(ca) }),
    ...(pair !== undefined && { clientCertPair: { crt: readFileSync(pair.cert), key: readFileSync(pair.key) } }),
  }
}

/** @throws for a missing or empty file. */
export function readApiKey(apiKey: ApiKey): string {
  if ('key' in apiKey) return apiKey.key
  const key = readFileSync(apiKey.path, 'utf8').trim()
  if (key === '') throw new Error(`${apiKey.path}: the file is empty; expected an API key of Temporal`)
  return key
}
