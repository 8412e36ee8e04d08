// Starts the Temporal development server with its UI.

import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'

import { SEARCH_ATTRIBUTES } from '../server/config.ts'
import { startPart, type Part } from './part.ts'
import type { Ports } from './ports.ts'

export interface TemporalOptions {
  readonly binary: string
  readonly dir: string
  readonly logDir: string
  readonly ports: Pick<Ports, 'temporal' | 'temporalUi' | 'temporalHttp' | 'temporalMetrics'>
  /** True to keep everything in memory. */
  readonly ephemeral: boolean
  /** Name in messages and of the log file; default `temporal`. */
  readonly name?: string
  /** Additional flags of the server. */
  readonly flags?: readonly string[]
}

/** Starts the server; resolves when its namespace `default` answers. */
export async function startTemporal(options: TemporalOptions, onPart?: (part: Part) => void): Promise<Part> {
  const { binary, dir, logDir, ports, ephemeral, name = 'temporal', flags = [] } = options
  await mkdir(dir, { recursive: true, mode: 0o700 })
  const ui = `http://127.0.0.1:${ports.temporalUi}`
  // Without WAL each workflow task waits for several disk syncs and takes twice as long.
  const storage = [
    '--db-filename',
    join(dir, 'temporal.db'),
    '--sqlite-pragma',
    'journal_mode=wal',
    '--sqlite-pragma',
    'synchronous=normal',
  ]

  const spec = {
    name,
    command: binary,
    args: [
      'server',
      'start-dev',
      '--ip',
      '127.0.0.1',
      '--port',
      String(ports.temporal),
      '--ui-port',
      String(ports.temporalUi),
      // Without this flag the server chooses an ephemeral port.
      '--http-port',
      String(ports.temporalHttp),
      '--metrics-port',
      String(ports.temporalMetrics),
      '--log-format',
      'json',
      '--disable-config-file',
      ...Object.entries(SEARCH_ATTRIBUTES).flatMap(([name, type]) => ['--search-attribute', `${name}=${type}`]),
      ...(ephemeral ? [] : storage),
      ...flags,
    ],
    logFile: join(logDir, `${name}.log`),
    address: `127.0.0.1:${ports.temporal}`,
    // Through the UI, so that both the frontend and the UI are ready.
    isReady: async () => (await fetch(`${ui}/api/v1/namespaces/default`)).ok,
  }
  return startPart(spec, onPart)
}
