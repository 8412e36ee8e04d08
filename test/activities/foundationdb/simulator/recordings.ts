// Reads the packed recordings of a real FoundationDB 7.1.67 (fdb-recordings): one line of JSON per command. A `status
// json` document is packed as its shape (the set of its key paths with types) and as facts that have a meaning.
// The project keeps this copy (1 MB; the recordings have 17 MB) because every test of the simulator must run in a fresh clone, which has no recordings next to it.
// recordings.test.ts compares the copy with the recordings where they exist.

import { readFileSync } from 'node:fs'
import { join } from 'node:path'

const FOLDER = join(import.meta.dirname, 'recordings')

export interface RecordedCommand {
  readonly name: string
  /** Seconds since the start of the folder. */
  readonly at?: number
  readonly tool: 'fdbcli' | 'fdbserver'
  readonly argv: readonly string[]
  readonly exit: number
  readonly wall: number
  readonly stdin?: string
  readonly env?: Record<string, string>
  readonly killedAfter?: number
  /** `<document>` stands for a JSON document, `<help>` for a text of help. */
  readonly stdout: string
  readonly stderr: string
  readonly document?: { readonly shape: number; readonly facts: Facts }
}

export type Facts = Readonly<Record<string, unknown>>

const lines = (file: string) => readFileSync(join(FOLDER, file), 'utf8').trimEnd().split('\n')

export function recordedCommands(folder: string): RecordedCommand[] {
  return lines(`${folder}.jsonl`).map((line) => JSON.parse(line) as RecordedCommand)
}

/** The key paths of all recorded shapes, by number. */
export function recordedShapes(): Set<string>[] {
  const [first = '[]', ...others] = lines('shapes.jsonl')
  const base = JSON.parse(first) as string[]
  return others.map((line) => {
    const { without, with: more } = JSON.parse(line) as { without: string[]; with: string[] }
    return new Set([...base.filter((path) => !without.includes(path)), ...more])
  })
}

type Json = Record<string, unknown>

/** Objects whose keys are names, not fields. */
const MAPS = ['cluster.processes', 'cluster.machines']

/** The key paths of a document: `a.b:number`, `a{}`, `a[]`. Roles of processes have their name in the path. */
export function shapeOf(value: unknown, path = '', found = new Set<string>()): Set<string> {
  if (Array.isArray(value)) {
    found.add(`${path}[]`)
    for (const item of value as Json[]) {
      const role = typeof item === 'object' && 'role' in item ? `[${String(item['role'])}]` : '[]'
      shapeOf(item, path + role, found)
    }
  } else if (typeof value === 'object' && value !== null) {
    found.add(`${path}{}`)
    for (const [key, item] of Object.entries(value)) {
      shapeOf(item, `${path === '' ? '' : `${path}.`}${MAPS.includes(path) ? '*' : key}`, found)
    }
  } else found.add(`${path}:${typeof value}`)
  return found
}

const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {})
const list = (value: unknown): Json[] => (Array.isArray(value) ? (value as Json[]) : [])
const names = (value: unknown) => list(value).map(({ name }) => name as string)

/** The facts of a document, as they are packed. */
export function factsOf({ client, cluster }: { client: Json; cluster: Json }): Facts {
  const coordinators = object(client['coordinators'])
  const data = object(cluster['data'])
  const recovery = object(cluster['recovery_state'])
  const status = object(client['database_status'])
  const processes = Object.values(object(cluster['processes'])).map(object)
  const roles = (process: Json) => list(process['roles']).map(({ role }) => String(role))
  const facts = {
    available: status['available'],
    healthy: status['healthy'],
    upToDate: object(client['cluster_file'])['up_to_date'],
    coordinators: list(coordinators['coordinators']).map(({ address, reachable }) => [address, reachable]),
    quorum: coordinators['quorum_reachable'],
    clientMessages: names(client['messages']),
    messages: names(cluster['messages']).sort(),
    recovery: recovery['name'],
    generations: recovery['active_generations'],
    data: data['state'],
    trackers: list(data['team_trackers']).map(({ primary, state }) => [primary, object(state)['name']]),
    configuration: cluster['configuration'],
    faultTolerance: cluster['fault_tolerance'],
    lock: object(cluster['database_lock_state'])['locked'],
    maintenance: cluster['maintenance_zone'],
    layers: cluster['layers'],
    roles: [...new Set(processes.flatMap(roles))].sort(),
    processes: Object.fromEntries(
      processes.map((process) => [
        String(process['address']),
        [
          process['class_type'],
          process['class_source'],
          process['excluded'] ?? null,
          process['under_maintenance'] ?? null,
          [...new Set(roles(process).filter((role) => role === 'storage' || role === 'coordinator'))].sort(),
        ],
      ]),
    ),
  }
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== undefined))
}
