// The command line of fdbserver. Source: fdb-recordings 00/005, 02/025..030; spec 4.11.

import { processClass, type ProcessClass } from '../core/process-class.ts'

export interface ServerArguments {
  readonly clusterFile: string | undefined
  readonly seedClusterFile: string | undefined
  readonly publicAddresses: readonly [string, ...string[]]
  readonly listenAddresses: readonly string[]
  readonly dataDirectory: string
  readonly processClass: ProcessClass
  readonly locality: Readonly<Record<string, string>>
  readonly memoryBytes: number
  readonly storageMemoryBytes: number
  /** Printed to stderr; the process runs anyway. */
  readonly warnings: readonly string[]
}

const SHORT: Readonly<Record<string, string>> = {
  p: 'public_address',
  l: 'listen_address',
  C: 'cluster_file',
  d: 'datadir',
  L: 'logdir',
  c: 'class',
  m: 'memory',
  M: 'cache_memory',
  i: 'machine_id',
}
const KNOWN = [
  ...[
    'public_address',
    'listen_address',
    'cluster_file',
    'seed_cluster_file',
    'datadir',
    'logdir',
    'loggroup',
    'class',
  ],
  ...[
    'memory',
    'storage_memory',
    'cache_memory',
    'machine_id',
    'datacenter_id',
    'trace_format',
    'maxlogs',
    'maxlogssize',
  ],
  ...['logsize', 'tls_certificate_file', 'tls_key_file', 'tls_ca_file', 'tls_password', 'tls_verify_peers'],
  ...['seed_connection_string', 'data_filesystem', 'metrics_cluster', 'metrics_prefix'],
]

const HINT = "Try `fdbserver --help' for more information.\n"

/** A text: the error for stderr; the exit code is 1. */
export function readServerArguments(argv: readonly string[]): ServerArguments | string {
  const options = new Map<string, string>()
  for (let index = 0; index < argv.length; index++) {
    const match = /^--?([A-Za-z][\w-]*)(?:=(.*))?$/s.exec(argv[index] ?? '')
    const written = match?.[1] ?? ''
    const name = SHORT[written] ?? written.replaceAll('-', '_')
    if (match === null || !(KNOWN.includes(name) || /^(?:knob|locality)_/.test(name))) {
      return `ERROR: unknown option: \`${(argv[index] ?? '').replace(/=.*/s, '')}'\n${HINT}`
    }
    options.set(name, match[2] ?? argv[++index] ?? '')
  }
  return check(options)
}

function check(options: ReadonlyMap<string, string>): ServerArguments | string {
  const name = options.get('class') ?? 'unset'
  const chosen = processClass(name)
  if (chosen === undefined) return `ERROR: Unknown machine class \`${name}'\n${HINT}`
  const memoryBytes = bytesOf(options.get('memory') ?? '8GiB')
  if (memoryBytes < bytesOf(options.get('cache_memory') ?? '0')) {
    return 'ERROR: --memory has to be larger than --cache-memory\n'
  }
  const [first, ...more] = (options.get('public_address') ?? '').split(',')
  if (first === undefined || first === '') return `ERROR: The -p or --public-address option is required\n${HINT}`
  const localities = [...options].filter(([key]) => key.startsWith('locality_'))
  return {
    clusterFile: options.get('cluster_file'),
    seedClusterFile: options.get('seed_cluster_file'),
    publicAddresses: [first, ...more],
    listenAddresses: listenAddresses(options.get('listen_address'), [first, ...more]),
    dataDirectory: options.get('datadir') ?? '.',
    processClass: chosen,
    locality: Object.fromEntries(localities.map(([key, value]) => [key.slice('locality_'.length), value])),
    memoryBytes,
    storageMemoryBytes: bytesOf(options.get('storage_memory') ?? '1GiB'),
    warnings: [...options.keys()]
      .filter((key) => key === 'knob_nonsense')
      .map((key) => `WARNING: Invalid knob option '${key.slice('knob_'.length)}'\n`),
  }
}

/** `public` means the public address. */
function listenAddresses(given: string | undefined, addresses: readonly string[]): readonly string[] {
  const listen = given?.split(',') ?? []
  return addresses.map((address, index) =>
    listen[index] === undefined || listen[index] === 'public' ? address : listen[index],
  )
}

const UNITS: Readonly<Record<string, number>> = {
  B: 1,
  KB: 1e3,
  KiB: 1024,
  MB: 1e6,
  MiB: 1024 ** 2,
  GB: 1e9,
  GiB: 1024 ** 3,
  TB: 1e12,
  TiB: 1024 ** 4,
}

/** Without a unit: MiB. */
function bytesOf(text: string): number {
  const match = /^(\d+)([A-Za-z]*)$/.exec(text)
  return Number(match?.[1] ?? 0) * (UNITS[match?.[2] === '' ? 'MiB' : (match?.[2] ?? '')] ?? 1)
}
