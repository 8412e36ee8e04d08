// The only reader of the environment. A flag overrides its variable; a variable overrides the default.
//
// Values are parsed by the command that needs them: each command calls `readConfig` once and passes values on.

import { fileURLToPath } from 'node:url'
import { homedir } from 'node:os'
import { extname, join, resolve } from 'node:path'

import type { StatsdEnvironment } from '../../workflows/kit/index.ts'

/** The search attributes of Pawl's workflows in Temporal, with their types: exact values, or lists of them. */
export const SEARCH_ATTRIBUTES = {
  PawlGroup: 'Keyword',
  PawlKind: 'Keyword',
  PawlNamespace: 'Keyword',
  PawlName: 'Keyword',
  PawlUid: 'Keyword',
  PawlJobId: 'Keyword',
  PawlRootJobId: 'Keyword',
  PawlOutcome: 'Keyword',
  // Names and uids of the hosted objects of a run.
  PawlTree: 'KeywordList',
} as const

type Environment = Readonly<Record<string, string | undefined>>

export interface Config {
  /** Where binaries and the default data folder live: `$PAWL_CACHE`, else `${XDG_CACHE_HOME:-~/.cache}/pawl`. */
  readonly cacheDir: string
  /** State of `pawl dev`: `$PAWL_DATA_DIR`, else `dev` in the cache folder. */
  readonly dataDir: string
  /** `$KUBECONFIG`; undefined is in-cluster or the usual file. */
  readonly kubeconfig: string | undefined
  /** `$PAWL_DATABASE_URL`. */
  readonly databaseUrl: string | undefined
  /** `$PAWL_API_URL`: the URL of `pawl api`. */
  readonly apiUrl: string | undefined
  /** `$PAWL_API_SERVICE`: the Service through which the API server reaches `pawl api`. */
  readonly apiService: string | undefined
  /** `$PAWL_TEMPORAL_ADDRESS`, else `$TEMPORAL_ADDRESS`. */
  readonly temporalAddress: string | undefined
  /** `$PAWL_TEMPORAL_NAMESPACE`, else `$TEMPORAL_NAMESPACE`, else `default`. */
  readonly temporalNamespace: string
  /** `$PAWL_TEMPORAL_UI`: the URL of Temporal's UI for links. */
  readonly temporalUi: string | undefined
  /** The variables of Temporal's own tools. */
  readonly temporal: TemporalEnvironment
  /** `$PAWL_PAYLOAD_KEY`: file with the keys that encrypt payloads, see worker/reconciler/temporal/payload-codec.ts. */
  readonly payloadKeyPath: string | undefined
  /** `$PAWL_CONTENT_KEY`: file with the key of content hashes, see activities/journal/content-key.ts. */
  readonly contentKeyPath: string | undefined
  /** `$PAWL_BUNDLE_CACHE`: cache folder of workflow bundles and compiled controllers; undefined: no cache. */
  readonly bundleCacheDir: string | undefined
  /** The variables of programs that send metrics to Datadog. */
  readonly statsd: StatsdEnvironment
  /** `$CONTROLLER_NODE_NAME`: the node of this process; chaos-controller uses the same variable. */
  readonly nodeName: string | undefined
  /** `$PAWL_LOG_LEVEL`: a level of pino. */
  readonly logLevel: string
  /** Paths of server binaries, by binary: `$PAWL_ETCD`, `$PAWL_KUBE_APISERVER`, ... */
  readonly binaries: ReadonlyMap<string, { readonly path: string; readonly variable: string }>
  /** `$KUBEBUILDER_ASSETS`: a folder with etcd, kube-apiserver and kubectl. */
  readonly assetsDir: string | undefined
  /** Folders of `$PATH`. */
  readonly searchPath: readonly string[]
  /** Whether `npx pawl` or `npm exec pawl` started this process. */
  readonly isStartedByNpx: boolean
  /** False when `$PAWL_OFFLINE` is `1` or `true`: nothing is downloaded and Go asks no proxy. */
  readonly mayDownload: boolean
}

export interface TemporalEnvironment {
  /** `$TEMPORAL_TLS`: `true` or `false`. */
  readonly tls: string | undefined
  /** `$TEMPORAL_TLS_SERVER_CA_CERT_PATH`. */
  readonly caPath: string | undefined
  /** `$TEMPORAL_TLS_SERVER_NAME`. */
  readonly serverName: string | undefined
  /** `$TEMPORAL_TLS_CLIENT_CERT_PATH`. */
  readonly clientCertPath: string | undefined
  /** `$TEMPORAL_TLS_CLIENT_KEY_PATH`. */
  readonly clientKeyPath: string | undefined
  /** `$PAWL_TEMPORAL_API_KEY_FILE`. */
  readonly apiKeyPath: string | undefined
  /** `$TEMPORAL_API_KEY`. */
  readonly apiKey: string | undefined
}

/** Reads the configuration from the given environment, by default the process's own. */
export function readConfig(env: Environment = process.env): Config {
  const cacheDir = resolve(
    text(env, 'PAWL_CACHE') ?? join(text(env, 'XDG_CACHE_HOME') ?? join(homedir(), '.cache'), 'pawl'),
  )

  return {
    cacheDir,
    dataDir: resolve(text(env, 'PAWL_DATA_DIR') ?? join(cacheDir, 'dev')),
    kubeconfig: text(env, 'KUBECONFIG'),
    databaseUrl: text(env, 'PAWL_DATABASE_URL'),
    apiUrl: text(env, 'PAWL_API_URL'),
    apiService: text(env, 'PAWL_API_SERVICE'),
    temporalAddress: text(env, 'PAWL_TEMPORAL_ADDRESS') ?? text(env, 'TEMPORAL_ADDRESS'),
    temporalNamespace: text(env, 'PAWL_TEMPORAL_NAMESPACE') ?? text(env, 'TEMPORAL_NAMESPACE') ?? 'default',
    temporalUi: text(env, 'PAWL_TEMPORAL_UI'),
    temporal: {
      tls: text(env, 'TEMPORAL_TLS'),
      caPath: text(env, 'TEMPORAL_TLS_SERVER_CA_CERT_PATH'),
      serverName: text(env, 'TEMPORAL_TLS_SERVER_NAME'),
      clientCertPath: text(env, 'TEMPORAL_TLS_CLIENT_CERT_PATH'),
      clientKeyPath: text(env, 'TEMPORAL_TLS_CLIENT_KEY_PATH'),
      apiKeyPath: text(env, 'PAWL_TEMPORAL_API_KEY_FILE'),
      apiKey: text(env, 'TEMPORAL_API_KEY'),
    },
    payloadKeyPath: text(env, 'PAWL_PAYLOAD_KEY'),
    contentKeyPath: text(env, 'PAWL_CONTENT_KEY'),
    bundleCacheDir: text(env, 'PAWL_BUNDLE_CACHE'),
    statsd: statsdIn(env),
    nodeName: text(env, 'CONTROLLER_NODE_NAME'),
    logLevel: text(env, 'PAWL_LOG_LEVEL') ?? 'info',
    binaries: namedBinaries(env),
    assetsDir: text(env, 'KUBEBUILDER_ASSETS'),
    searchPath: (text(env, 'PATH') ?? '').split(process.platform === 'win32' ? ';' : ':').filter((dir) => dir !== ''),
    isStartedByNpx: isStartedByNpx(env),
    mayDownload: !['1', 'true'].includes(text(env, 'PAWL_OFFLINE') ?? ''),
  }
}

/** The environment of child processes: the own environment with the additions. */
export function childEnvironment(additions: Environment = {}): Environment {
  return { ...process.env, ...additions }
}

/** The path of one of Pawl's modules, relative to worker/. The published package has JavaScript where the checkout has TypeScript. */
export function modulePath(file: string): string {
  return fileURLToPath(new URL(`../${file}`.replace(/\.ts$/, extname(import.meta.filename)), import.meta.url))
}

/** Node's arguments for the process of Pawl whose main module is this file of worker/, with its flags. */
export function processArgs(file: string, flags: readonly string[]): string[] {
  return [modulePath(file), ...flags]
}

/** npm sets these variables. Other programs that npx starts, such as a test runner, are no commands for users. */
function isStartedByNpx(env: Environment): boolean {
  return env['npm_lifecycle_event'] === 'npx' && /^\W*pawl\b/.test(env['npm_lifecycle_script'] ?? '')
}

const NAMED = [
  ...['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl', 'kwok'],
  ...['temporal', 'temporal-server', 'temporal-sql-tool', 'registry', 'ocm', 'helm'],
]

function namedBinaries(env: Environment): Config['binaries'] {
  const named = new Map<string, { path: string; variable: string }>()
  for (const name of NAMED) {
    const variable = `PAWL_${name.toUpperCase().replaceAll('-', '_')}`
    const path = text(env, variable)
    if (path !== undefined) named.set(name, { path, variable })
  }
  return named
}

function statsdIn(env: Environment): StatsdEnvironment {
  const url = text(env, 'STATSD_URL')
  const [agentHost, agentPort] = [text(env, 'DD_AGENT_HOST'), text(env, 'DD_DOGSTATSD_PORT')]
  return {
    ...(url !== undefined && { url }),
    ...(agentHost !== undefined && { agentHost }),
    ...(agentPort !== undefined && { agentPort }),
  }
}

function text(env: Environment, name: string): string | undefined {
  const value = env[name]
  return value === '' ? undefined : value
}
