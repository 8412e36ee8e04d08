// System keys that show the state of the database, and special keys, which are computed. Read only.
// Source: fdb-recordings 05/061..077, 08/023..025, 08/062, 09/003.

import { formatConnectionString, withoutTls } from './connection-string.ts'
import { isNamedBy, nameOf, type SimulatedProcess } from './process.ts'
import { compareNames } from './recruitment.ts'
import type { State } from './state.ts'

type Row = [key: string, value: string]

/** Rows below `\xff` that are not stored as keys. */
export function systemRows(state: State): Row[] {
  const { configuration } = state
  if (configuration === undefined) return []
  const addresses = [...state.exclusions].filter((exclusion) => !exclusion.startsWith('locality_'))
  return [
    ['\xff/coordinators', formatConnectionString(state.connection)],
    ...[...configuration].map(([key, value]): Row => [
      `\xff/conf/${key}`,
      key === 'regions' ? `\x01\0\x01b\xb0\0\xdb\x0f${String.fromCharCode(value.length % 256)}\0\0\0${value}` : value,
    ]),
    ['\xff/conf/initialized', '1'],
    ...(state.exclusionCounter === undefined ? [] : [['\xff/conf/excluded', state.exclusionCounter] as Row]),
    ...addresses.map((address): Row => [`\xff/conf/excluded/${address}`, '']),
  ]
}

/** Whether the exclusion still holds data or logs, so that removing the process would lose them. */
export function isInProgress(state: State, process: SimulatedProcess): boolean {
  const { id } = process.description
  const isLog = state.logs.some(({ interfaces }) => interfaces.some((log) => log.process === id))
  return state.shards.has(id) || (process.alive && (process.storage !== undefined || isLog))
}

/** Rows below `\xff\xff`. `clusterFile` is the path that the client reads. */
export function specialRows(state: State, clusterFile: string): Row[] {
  const processes = state.aliveProcesses().sort(compareNames)
  const { connection, maintenance } = state
  const isLocality = (exclusion: string) => exclusion.startsWith('locality_')
  const excluded = [...state.exclusions]
  const rows: Row[] = [
    ['/cluster_file_path', clusterFile],
    ['/connection_string', formatConnectionString(connection)],
    ['/configuration/coordinators/cluster_description', connection.description],
    ['/configuration/coordinators/processes', connection.coordinators.join(',')],
    ...processes.flatMap((process): Row[] => [
      [`/configuration/process/class_source/${nameOf(process)}`, classSource(state, process)],
      [`/configuration/process/class_type/${nameOf(process)}`, state.classOf(process)],
      [`/worker_interfaces/${nameOf(process)}`, process.description.id],
    ]),
    ...excluded.map((exclusion): Row => [
      `/management/${isLocality(exclusion) ? 'excluded_locality' : 'excluded'}/${exclusion}`,
      '',
    ]),
    ...[...state.failed].map((exclusion): Row => [`/management/failed/${exclusion}`, '']),
    ...processes
      .filter((process) => state.isExcluded(process) && isInProgress(state, process))
      .map((process): Row => [`/management/in_progress_exclusion/${nameOf(process)}`, '']),
    ...(maintenance === undefined || maintenance.until <= state.now()
      ? []
      : [[`/management/maintenance/${maintenance.zone}`, String(Math.floor(maintenance.until - state.now()))] as Row]),
  ]
  return rows.map(([key, value]): Row => [`\xff\xff${key}`, value]).sort(([a], [b]) => (a < b ? -1 : 1))
}

export function classSource(state: State, process: SimulatedProcess): 'command_line' | 'set_class' {
  return state.classes.has(nameOf(process)) ? 'set_class' : 'command_line'
}

/** Processes that an exclusion names, also those that are away. */
export function namedProcesses(state: State, exclusion: string): SimulatedProcess[] {
  return [...state.processes.values()].filter((process) => isNamedBy(process, exclusion))
}

/** Coordinators that an exclusion names, without `:tls`. */
export function namedCoordinators(state: State, exclusion: string): string[] {
  const named = namedProcesses(state, exclusion).map(nameOf)
  return state.connection.coordinators.map(withoutTls).filter((address) => named.includes(address))
}
