// The command line of fdbcli. Source: fdb-recordings 00 (help), 01/013, 05/125..133, 33.

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
  readonly tls: { readonly certificate?: string; readonly key?: string; readonly ca?: string; readonly peers?: string }
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
  for (let index = 0; index < argv.length; index++) {
    const match = /^--?([A-Za-z][\w-]*)(?:=(.*))?$/s.exec(argv[index] ?? '')
    if (match === null) return undefined
    const [, written = '', inline] = match
    const name = LETTERS[written] ?? written.replaceAll('_', '-')
    if (name.startsWith('knob-')) options.set(written, inline ?? argv[++index] ?? '')
    else if (VALUED.has(name)) options.set(name, inline ?? argv[++index] ?? '')
    else if (PLAIN.has(name)) options.set(name, '')
    else return undefined
  }
  return options
}

export function readArguments(argv: readonly string[]): CliRequest {
  const options = readOptions(argv)
  if (options === undefined) return { kind: 'usage' }
  if (options.has('version') || options.has('v')) return { kind: 'version' }
  if (options.has('help') || options.has('h')) return { kind: 'help' }
  const timeout = options.get('timeout')
  if (timeout !== undefined && !/^\d+$/.test(timeout))
    return { kind: 'error', text: `ERROR: invalid timeout ${timeout}\n` }
  if (timeout !== undefined && !options.has('exec')) {
    return { kind: 'error', text: 'ERROR: --timeout may only be specified with --exec\n' }
  }
  return {
    kind: 'run',
    arguments: {
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
        ...(options.has('tls-certificate-file') && { certificate: options.get('tls-certificate-file') ?? '' }),
        ...(options.has('tls-key-file') && { key: options.get('tls-key-file') ?? '' }),
        ...(options.has('tls-ca-file') && { ca: options.get('tls-ca-file') ?? '' }),
        ...(options.has('tls-verify-peers') && { peers: options.get('tls-verify-peers') ?? '' }),
      },
    },
  }
}
