// The work of sidecar and fdbmonitor in a Pod of a test: copies files and starts the processes of fdbmonitor.conf.

import {
  binaryFolderOf,
  imageOf,
  type ObservedPod,
  processClassOf,
  processGroupOf,
  substitutionsOf,
} from '../../../workflows/foundationdb/cluster/observed.ts'
import { substitute } from '../../../workflows/foundationdb/resources/monitor-configuration.ts'
import type { MemoryProcess } from './memory-database.ts'

type Texts = Readonly<Record<string, string>>

/** The files that the sidecar has copied in a Pod. */
export interface PodDirectory {
  /** Of the ConfigMap at that time. */
  readonly data: Texts
  readonly binaryFolder: string
}

export function isUnified({ metadata }: ObservedPod): boolean {
  return metadata.annotations?.['foundationdb.org/image-type'] === 'unified'
}

/** Copies the files now. @param data of the ConfigMap. */
export function copyFiles(pod: ObservedPod, data: Texts): PodDirectory {
  return { data, binaryFolder: binaryFolderOf(pod) }
}

/** The text of fdbmonitor.conf. */
export function monitorText(pod: ObservedPod, { data, binaryFolder }: PodDirectory): string {
  if (isUnified(pod)) return textOfUnified(pod, { data, binaryFolder })
  return substitute(data[monitorKeyOf(pod)] ?? '', { ...substitutionsOf(pod), BINARY_DIR: binaryFolder })
}

type UnifiedArgument = {
  readonly type?: string
  readonly value?: string
  readonly values?: readonly UnifiedArgument[]
  readonly source?: string
  readonly multiplier?: number
  readonly offset?: number
}

/** The text of fdbmonitor.conf that means the same as the JSON of unified images, for one process. */
function textOfUnified(pod: ObservedPod, { data, binaryFolder }: PodDirectory): string {
  const key = `fdbmonitor-conf-${processClassOf(pod) ?? ''}-json`
  const { runServers = true, arguments: all = [] } = JSON.parse(data[key] ?? '{"runServers":false}') as {
    readonly runServers?: boolean
    readonly arguments?: readonly UnifiedArgument[]
  }
  const values = substitutionsOf(pod) ?? {}
  const text = ({
    type,
    value = '',
    values: parts = [],
    source = '',
    multiplier = 1,
    offset = 0,
  }: UnifiedArgument): string => {
    if (type === 'Concatenate') return parts.map(text).join('')
    if (type === 'Environment') return values[source] ?? ''
    return type === 'ProcessNumber' ? String(multiplier + offset) : value
  }
  const lines = all.map((one) => text(one).replace(/^--([^=]+)=/, '$1 = '))
  return runServers ? ['[fdbserver.1]', `command = ${binaryFolder}/fdbserver`, ...lines].join('\n') : ''
}

/** The annotation of the monitor of unified images. */
export function reportedConfiguration(pod: ObservedPod, { data }: PodDirectory): string {
  const text = data[`fdbmonitor-conf-${processClassOf(pod) ?? ''}-json`] ?? '{}'
  return JSON.stringify({ ...(JSON.parse(text) as object), binaryPath: '/usr/bin/fdbserver' })
}

/** The processes that fdbmonitor starts. */
export function processesOf(
  pod: ObservedPod,
  directory: PodDirectory,
): readonly Omit<MemoryProcess, 'started' | 'place'>[] {
  return monitorText(pod, directory)
    .split(/^\[fdbserver\.\d+\]\n/m)
    .slice(1)
    .map((section) => {
      const lines = section.trim().split('\n')
      const { command = '', ...parameters } = Object.fromEntries(
        lines.map((line) => line.split(' = ', 2) as [string, string]),
      )
      const pairs = Object.entries(parameters)
      const localities = pairs.flatMap(([name, value]) =>
        name.startsWith('locality_') ? [[name.slice('locality_'.length), value] as const] : [],
      )
      return {
        processGroup: processGroupOf(pod) ?? '',
        processClass: parameters['class'] ?? '',
        host: substitutionsOf(pod)?.['FDB_PUBLIC_IP'] ?? '',
        addresses: parameters['public_address']?.split(',').map((one) => one.replace(/^\[([\d.]+)\]/, '$1')) ?? [],
        commandLine: [command, ...pairs.map(([name, value]) => `--${name}=${value}`)].join(' '),
        locality: Object.fromEntries(localities),
        version: /\/bin\/(\d+\.\d+\.\d+)\//.exec(command)?.[1] ?? imageOf(pod, 'foundationdb')?.split(':')[1] ?? '',
      }
    })
}

/** The key of the ConfigMap that the Pod mounts as fdbmonitor.conf. */
function monitorKeyOf(pod: ObservedPod): string {
  const processClass = processClassOf(pod) ?? ''
  const servers = substitutionsOf(pod)?.[`${processClass.toUpperCase()}_SERVERS_PER_POD`]
  return `fdbmonitor-conf-${processClass}${servers === undefined ? '' : `-density-${servers}`}`
}
