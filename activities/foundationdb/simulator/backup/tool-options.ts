// The command lines of fdbbackup, fdbrestore and backup_agent.

export interface ToolOptions {
  readonly clusterFile: string | undefined
  readonly url: string | undefined
  readonly tag: string
  readonly interval: string | undefined
  readonly version: string | undefined
  /** `BEGIN END` pairs as the user wrote them. */
  readonly keys: readonly string[]
  readonly isContinuous: boolean
  readonly isJson: boolean
  readonly waits: boolean
  readonly isDryRun: boolean
}

const VALUES: Readonly<Record<string, string>> = {
  C: 'cluster',
  'cluster-file': 'cluster',
  'dest-cluster-file': 'cluster',
  d: 'url',
  destcontainer: 'url',
  r: 'url',
  b: 'url',
  'base-url': 'url',
  t: 'tag',
  tagname: 'tag',
  s: 'interval',
  'snapshot-interval': 'interval',
  v: 'version',
  version: 'version',
  k: 'keys',
  'keys-file': 'other',
  'encryption-key-file': 'other',
  'mutation-log-type': 'other',
  'blob-credentials': 'other',
  logdir: 'other',
  loggroup: 'other',
  'trace-format': 'other',
  m: 'other',
  memory: 'other',
  'tls-certificate-file': 'other',
  'tls-ca-file': 'other',
  'tls-key-file': 'other',
  'tls-password': 'other',
  'tls-verify-peers': 'other',
}
const SWITCHES: Readonly<Record<string, string>> = {
  z: 'continuous',
  'no-stop-when-done': 'continuous',
  json: 'json',
  w: 'wait',
  wait: 'wait',
  waitfordone: 'wait',
  n: 'dryrun',
  dryrun: 'dryrun',
  log: 'other',
  'version-timestamps': 'other',
  f: 'other',
  force: 'other',
  'partitioned-log-experimental': 'other',
}

/** Returns the options, or the option that the tool does not know. */
export function readToolOptions(argv: readonly string[]): ToolOptions | string {
  const found = readWords(argv)
  if (typeof found === 'string') return found
  const last = (key: string): string | undefined => found.get(key)?.at(-1)
  return {
    clusterFile: last('cluster'),
    url: last('url'),
    tag: last('tag') ?? 'default',
    interval: last('interval'),
    version: last('version'),
    keys: found.get('keys') ?? [],
    isContinuous: found.has('continuous'),
    isJson: found.has('json'),
    waits: found.has('wait'),
    isDryRun: found.has('dryrun'),
  }
}

function readWords(argv: readonly string[]): Map<string, string[]> | string {
  const found = new Map<string, string[]>()
  const words = [...argv]
  for (let word = words.shift(); word !== undefined; word = words.shift()) {
    const [, written = '', value] = /^--?([A-Za-z][\w-]*)(?:=(.*))?$/s.exec(word) ?? []
    const name = written.replaceAll('_', '-')
    const key = VALUES[name] ?? SWITCHES[name]
    if (key !== undefined) {
      const text = name in VALUES ? (value ?? words.shift() ?? '') : ''
      found.set(key, [...(found.get(key) ?? []), text])
    } else if (!/^(?:knob|locality)-/.test(name)) return word.replace(/=.*/s, '')
    else if (value === undefined) words.shift()
  }
  return found
}
