// The object store of the backups in scenarios: a folder of the simulator, or the store that `$PAWL_FDB_OBJECT_STORE` names.
//
//   O1. A real FoundationDB needs `PAWL_FDB_OBJECT_STORE=account@host:port`, `FDB_BLOB_CREDENTIALS` with the file of its credentials, and, for other
//       parameters of the URL, `PAWL_FDB_OBJECT_STORE_PARAMETERS=secure_connection=0,region=us-east-1`. The bucket `backups` must exist.

import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'

import { withPrivateFolder } from '../../../activities/foundationdb/database/cluster-file.ts'
import { backupURL } from '../../../workflows/foundationdb/resources/backup-url.ts'
import { BACKEND, IS_REAL } from './backend.ts'

const run = promisify(execFile)
const { PAWL_FDB_OBJECT_STORE, PAWL_FDB_OBJECT_STORE_PARAMETERS, FDB_BLOB_CREDENTIALS } = process.env
const SECRET = 'backup-credentials'
const FOLDER = '/var/backup-credentials'

/** False: the scenarios of backups cannot run. */
export const HAS_OBJECT_STORE = !IS_REAL || PAWL_FDB_OBJECT_STORE !== undefined

const parameters = PAWL_FDB_OBJECT_STORE_PARAMETERS?.split(',')
export const blobStoreConfiguration = {
  accountName: PAWL_FDB_OBJECT_STORE ?? 'account@object-store.example:443',
  bucket: 'backups',
  ...(parameters !== undefined && { urlParameters: parameters }),
}

/** The Secret with the file of credentials, empty for the simulator. */
export const credentialsSecret = {
  apiVersion: 'v1',
  kind: 'Secret',
  metadata: { name: SECRET },
  stringData: { credentials: FDB_BLOB_CREDENTIALS === undefined ? '' : readFileSync(FDB_BLOB_CREDENTIALS, 'utf8') },
}

/** Agents read the credentials from the Secret. */
export const podTemplateSpec = {
  spec: {
    containers: [
      {
        name: 'foundationdb',
        env: [{ name: 'FDB_BLOB_CREDENTIALS', value: `${FOLDER}/credentials` }],
        volumeMounts: [{ name: 'credentials', mountPath: FOLDER }],
      },
    ],
    volumes: [{ name: 'credentials', secret: { secretName: SECRET } }],
  },
}

/** Whether the store has a backup of the name that can be restored. @param fdbbackup the path of the tool. */
export async function isRestorable(fdbbackup: string, name: string, blobStore: string): Promise<boolean> {
  const url = backupURL(blobStoreConfiguration, name)
  return await withPrivateFolder(async (home) => {
    const env = { ...process.env, ...BACKEND.environment, FDB_SIM_BLOBSTORE: blobStore, HOME: home }
    const described = run(fdbbackup, ['describe', '-d', url], { env, timeout: 60_000 })
    const { stdout } = await described.catch((error: unknown) => {
      if (String((error as { stderr?: unknown }).stderr).includes('does not exist')) return { stdout: '' }
      throw error
    })
    return stdout.includes('Restorable: true')
  })
}
