// Reads fdbmonitor's configuration file, an INI text.
//
// C1. A section `CLASS.ID` with a positive whole ID is a process. A section `CLASS` has defaults for its processes, and
//     `general` has defaults for the keys of fdbmonitor itself.
// C2. Keys of fdbmonitor itself are no arguments of the process. All other keys of `CLASS` and `CLASS.ID` are, sorted.

/** One process that fdbmonitor keeps running. */
export interface MonitoredProcess {
  /** For example `fdbserver.1`. */
  readonly id: string
  /** Program and arguments; undefined if no section has the key `command`. */
  readonly argv: readonly string[] | undefined
  readonly killOnConfigurationChange: boolean
  readonly delays: RestartDelays
  /** Variables of fdbmonitor that the process does not inherit. */
  readonly deletedVariables: readonly string[]
}

/** Seconds, except `backoff`, which is a factor. */
export interface RestartDelays {
  readonly initial: number
  readonly longest: number
  readonly backoff: number
  /** A process that ran this long starts again with the initial delay. */
  readonly resetAfter: number
}

type Section = ReadonlyMap<string, string>

const DEFAULT_RESTART_DELAY = 60
const MONITOR_KEYS = new Set([
  ...['command', 'kill_on_configuration_change', 'disable_lifecycle_logging', 'delete_envvars', 'user', 'group'],
  ...['restart_delay', 'initial_restart_delay', 'restart_backoff', 'restart_delay_reset_interval'],
])
const FLAG = 'flag_'

/**
 * Returns the processes of a configuration in the order of their sections. Lines that are neither a section nor
 * `key = value` are ignored, as fdbmonitor starts with a broken file and no process (recording 20/014).
 */
export function readConfiguration(text: string): MonitoredProcess[] {
  const sections = readSections(text)
  return [...sections.keys()].flatMap((id) => {
    const [, name, number] = /^(.+)\.(\d+)$/.exec(id) ?? []
    if (name === undefined || Number(number) === 0) return []
    return [readProcess(id, name, String(number), sections)]
  })
}

function readSections(text: string): Map<string, Map<string, string>> {
  const sections = new Map<string, Map<string, string>>()
  let section: Map<string, string> | undefined
  for (const line of text.split(/\r?\n/).map((raw) => raw.trim())) {
    if (line === '' || line.startsWith('#') || line.startsWith(';')) continue
    const name = /^\[([^\]]*)\]/.exec(line)?.[1]?.trim()
    if (name !== undefined) {
      section = sections.get(name) ?? new Map<string, string>()
      sections.set(name, section)
      continue
    }
    const equals = line.indexOf('=')
    if (line.startsWith('[')) section = undefined
    else if (equals > 0) section?.set(line.slice(0, equals).trim(), line.slice(equals + 1).trim())
  }
  return sections
}

function readProcess(
  id: string,
  name: string,
  number: string,
  sections: ReadonlyMap<string, Section>,
): MonitoredProcess {
  const own = [sections.get(name), sections.get(id)].filter((section) => section !== undefined)
  const values = new Map(own.flatMap((section) => [...section]))
  const find = (key: string): string | undefined => values.get(key) ?? sections.get('general')?.get(key)
  const command = find('command')?.split(/\s+/)
  const replaceID = (value: string): string => value.replaceAll('$ID', number)
  return {
    id,
    argv: command && [...command, ...argumentsOf(values)].map(replaceID),
    killOnConfigurationChange: find('kill_on_configuration_change') !== 'false',
    delays: readDelays(find),
    deletedVariables: find('delete_envvars')?.split(/\s+/) ?? [],
  }
}

function argumentsOf(values: Section): string[] {
  const keys = [...values.keys()].filter((key) => !MONITOR_KEYS.has(key)).sort()
  return keys.flatMap((key) => {
    const value = values.get(key) ?? ''
    if (!key.startsWith(FLAG)) return [`--${key}`, value]
    return value === 'true' ? [`--${key.slice(FLAG.length)}`] : []
  })
}

function readDelays(find: (key: string) => string | undefined): RestartDelays {
  const seconds = (key: string, otherwise: number): number => {
    const value = Number(find(key) ?? NaN)
    return Number.isFinite(value) && value >= 0 ? value : otherwise
  }
  const longest = seconds('restart_delay', DEFAULT_RESTART_DELAY)
  return {
    initial: Math.min(longest, seconds('initial_restart_delay', 0)),
    longest,
    backoff: Math.max(1, seconds('restart_backoff', longest)),
    resetAfter: seconds('restart_delay_reset_interval', longest),
  }
}
