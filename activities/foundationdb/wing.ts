// Opens the wing in a worker: finds FoundationDB's tools and the certificates of sidecars.

import { readFile } from 'node:fs/promises'

import { recoveryWaits } from '../../workflows/foundationdb/recovery-waits.ts'
import type { foundationdbWing } from '../../workflows/foundationdb/wing.ts'
import type { ActivityWing } from '../wing.ts'
import type { DatabaseParts } from './database/activities.ts'
import { fdbcliDatabases } from './database/fdbcli-database.ts'
import { findTools } from './database/tools.ts'
import type { TlsFiles } from './pod-client/sidecar-client.ts'
import type { SidecarParts } from './pod-client/sync-pods.ts'

export const foundationdb: ActivityWing<typeof foundationdbWing.flags> = {
  open({ environment = {}, now }, flags) {
    const tools = findTools(flags['fdb-bin'] ?? environment['PAWL_FDB_BIN'], environment['PATH'])
    const parts: DatabaseParts & SidecarParts = {
      databases: fdbcliDatabases({ tools, environment }),
      now,
      readTlsFiles: () => readTlsFiles(environment),
    }
    const waits = recoveryWaits((flags['fdb-recovery-wait'] ?? 0) / 1000)
    const settings = { recoveryWaits: { ...waits } }
    return { activities: {}, parts, settings, close: () => Promise.resolve() }
  },
}

/** The certificates that FoundationDB's tools use, too. Undefined unless all three are configured. */
async function readTlsFiles(environment: Readonly<Record<string, string | undefined>>): Promise<TlsFiles | undefined> {
  const files = ['FDB_TLS_CA_FILE', 'FDB_TLS_CERTIFICATE_FILE', 'FDB_TLS_KEY_FILE'].map((name) => environment[name])
  const named = files.filter((file) => file !== undefined)
  if (named.length < files.length) return undefined
  const [ca = '', cert = '', key = ''] = await Promise.all(named.map((file) => readFile(file, 'utf8')))
  return { ca, cert, key }
}
