// Opens the wing in a worker: finds FoundationDB's tools and the certificates of sidecars.

import { mkdtempSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { recoveryWaits } from '../../workflows/foundationdb/recovery-waits.ts'
import type { foundationdbWing } from '../../workflows/foundationdb/wing.ts'
import type { Deps } from '../deps.ts'
import type { ActivityWing, OpenWing } from '../wing.ts'
import type { DatabaseParts } from './database/activities.ts'
import type { BackupParts } from './database/with-backup-tools.ts'
import { backupTools } from './database/backup-tools.ts'
import { fdbcliDatabases } from './database/fdbcli-database.ts'
import { findTools } from './database/tools.ts'
import { measureFoundationDB } from './metrics/gauges.ts'
import { metricsObserver } from './metrics/observer.ts'
import type { TlsFiles } from './pod-client/sidecar-client.ts'
import type { SidecarParts } from './pod-client/sync-pods.ts'
import { writeExecutables } from './simulator/bin.ts'

export const foundationdb: ActivityWing<typeof foundationdbWing.flags> = {
  open(deps, flags) {
    const { environment = {}, now } = deps
    const simulator = flags['fdb-simulator'] ? openSimulator() : undefined
    const tools = findTools(flags['fdb-bin'] ?? environment['PAWL_FDB_BIN'], environment['PATH'], simulator?.folderOf)
    const parts: DatabaseParts & SidecarParts & BackupParts = {
      databases: fdbcliDatabases({ tools, environment }),
      openBackups: (address, signal, knobs) => backupTools({ tools, address, signal, environment }, knobs),
      now,
      readTlsFiles: () => readTlsFiles(environment),
    }
    const waits = recoveryWaits((flags['fdb-recovery-wait'] ?? 0) / 1000)
    const settings = { recoveryWaits: { ...waits } }
    return { activities: {}, parts, settings, ...observerIn(deps), close: async () => await simulator?.close() }
  },
}

/** Counts and measures metrics, if the process has metrics. */
function observerIn(deps: Deps): Pick<OpenWing, 'observer'> {
  const { metrics } = deps
  if (metrics === undefined) return {}
  metrics.measure(measureFoundationDB(deps))
  return { observer: metricsObserver(metrics) }
}

interface OpenSimulator {
  /** The folder with the simulated tools of a version. */
  readonly folderOf: (version: string) => string
  readonly close: () => Promise<void>
}

function openSimulator(): OpenSimulator {
  const folder = mkdtempSync(join(tmpdir(), 'pawl-fdb-simulator-'))
  const folders = new Map<string, string>()
  return {
    folderOf(version) {
      const found = folders.get(version) ?? writeExecutables(join(folder, version), process.execPath, version)
      folders.set(version, found)
      return found
    },
    close: () => rm(folder, { recursive: true, force: true }),
  }
}

/** The certificates that FoundationDB's tools use, too. Undefined unless all three are configured. */
async function readTlsFiles(environment: Readonly<Record<string, string | undefined>>): Promise<TlsFiles | undefined> {
  const files = ['FDB_TLS_CA_FILE', 'FDB_TLS_CERTIFICATE_FILE', 'FDB_TLS_KEY_FILE'].map((name) => environment[name])
  const named = files.filter((file) => file !== undefined)
  if (named.length < files.length) return undefined
  const [ca = '', cert = '', key = ''] = await Promise.all(named.map((file) => readFile(file, 'utf8')))
  return { ca, cert, key }
}
