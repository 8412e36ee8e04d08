// The command line of fdbcli. Source: fdb-recordings 00 (help), 01/013, 05/125..133, 33.

/** Paths of files, and the rules for the other side. */
export interface TlsOptions {
  readonly certificate: string | undefined
  readonly key: string | undefined
  readonly ca: string | undefined
  readonly peers: string | undefined
}

export interface CliArguments {
  readonly clusterFile: string | undefined
  readonly exec: string | undefined
  /** Seconds; undefined or 0: none. */
  readonly timeout: number | undefined
  readonly noStatus: boolean
  readonly log: boolean
  readonly logDir: string | undefined
  readonly logGroup: string
  readonly traceFormat: string
  readonly knobs: readonly string[]
  readonly tls: TlsOptions
}

export type CliRequest =
  | { readonly kind: 'run'; readonly arguments: CliArguments }
  | { readonly kind: 'version' }
  | { readonly kind: 'help' }
  | { readonly kind: 'usage' }
  | { readonly kind: 'error'; readonly text: string }

/** Options with a value, without dashes; `_` and `-` are the same. */
const VALUED = new Set([
  ...['C', 'exec', 'timeout', 'log-dir', 'log-group', 'trace-format', 'api-version', 'debug-tls'],
  ...['tls-certificate-file', 'tls-key-file', 'tls-ca-file', 'tls-password', 'tls-verify-peers', 'memory'],
])
const PLAIN = new Set(['log', 'no-status', 'version', 'v', 'help', 'h', 'build-flags', 'no-hints', 'debug-tls'])
const LETTERS: Readonly<Record<string, string>> = { cluster_file: 'C', 'cluster-file': 'C' }

/** Reads options of the form `--name value`, `--name=value` and `-n value`. Undefined: an unknown option or a word. */
export function readOptions(argv: readonly string[]): Map<string, string> | undefined {
  const options = new Map<string, string>()
  const rest = [...argv]
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    const [, written = '', value] = /^--?([A-Za-z][\w-]*)(?:=(.*))?$/s.exec(word) ?? []
    const name = optionName(written)
    if (name === undefined) return undefined
    options.set(name, PLAIN.has(name) ? '' : (value ?? rest.shift() ?? ''))
  }
  return options
}

/** Knobs keep their spelling. */
function optionName(written: string): string | undefined {
  const name = LETTERS[written] ?? written.replaceAll('_', '-')
  if (name.startsWith('knob-')) return written
  return VALUED.has(name) || PLAIN.has(name) ? name : undefined
}

export function readArguments(argv: readonly string[]): CliRequest {
  const options = readOptions(argv)
  if (options === undefined) return { kind: 'usage' }
  if (options.has('version') || options.has('v')) return { kind: 'version' }
  if (options.has('help') || options.has('h')) return { kind: 'help' }
  const timeout = options.get('timeout')
  if (timeout !== undefined && !/^\d+$/.test(timeout)) {
    return { kind: 'error', text: `ERROR: invalid timeout ${timeout}\n` }
  }
  if (timeout !== undefined && !options.has('exec')) {
    return { kind: 'error', text: 'ERROR: --timeout may only be specified with --exec\n' }
  }
  return { kind: 'run', arguments: runArguments(options) }
}

function runArguments(options: ReadonlyMap<string, string>): CliArguments {
  const timeout = options.get('timeout')
  return {
    clusterFile: options.get('C'),
    exec: options.get('exec'),
    timeout: timeout === undefined ? undefined : Number(timeout),
    noStatus: options.has('no-status'),
    log: options.has('log'),
    logDir: options.get('log-dir'),
    logGroup: options.get('log-group') ?? 'default',
    traceFormat: options.get('trace-format') ?? 'xml',
    knobs: [...options.keys()].filter((name) => /^knob[_-]/.test(name)).map((name) => name.slice(5)),
    tls: {
      certificate: options.get('tls-certificate-file'),
      key: options.get('tls-key-file'),
      ca: options.get('tls-ca-file'),
      peers: options.get('tls-verify-peers'),
    },
  }
}
