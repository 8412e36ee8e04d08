// The step of a restore: starts it once, and reports its state each minute until it ends. Source: spec/foundationdb.md 2.28.
//
//   R1. A restore starts only if the database has had none: afterwards its keys may be newer than the backup.

import { action, again, done, retryLater } from '../../../kit/index.ts'
import { backupURL } from '../../resources/backup-url.ts'
import { RESTORE_STATES, type RestoreSpec } from '../kind.ts'
import type { RestorePass, RestoreState } from '../pass.ts'
import { restoreCalls } from '../restore-calls.ts'

const NAME = 'StartRestore'
const POLL_MS = 60_000
/** A started restore is soon visible. */
const FIRST_POLL_MS = 2000
const ENDED: ReadonlySet<string> = new Set(['completed', 'aborted'])
/** fdbrestore prints this for a tag without a restore, in this spelling. */
const NONE: ReadonlySet<string> = new Set(['unitialized', 'uninitialized'])

export const startRestore = action<RestorePass>(NAME, async (pass) => {
  const { target, state, status } = pass
  const { metadata, spec } = target
  const address = databaseAddress(state)
  if (address === undefined) {
    return retryLater(
      NAME,
      `FoundationDBCluster "${spec.destinationClusterName}" has no connection string; wait until it is available, or create it`,
    )
  }
  const calls = pass.call(restoreCalls)
  const found = await calls.readRestoreStatus(address)
  if ('failure' in found) return retryLater(NAME, found.failure.message)
  const { state: restoreState } = found.value
  const draft = status as Record<string, unknown>
  // R1.
  if (restoreState !== undefined && !NONE.has(restoreState)) {
    draft['running'] = true
    draft['state'] = RESTORE_STATES.find((one) => one === restoreState) ?? 'Unknown'
    return ENDED.has(restoreState) ? done : again(POLL_MS)
  }
  const started = await calls.startRestore({ ...address, options: optionsOf(metadata.name, spec) })
  if ('failure' in started) return retryLater(NAME, started.failure.message)
  draft['running'] = true
  draft['state'] = 'queued'
  return again(FIRST_POLL_MS)
})

function databaseAddress({ cluster }: RestoreState): { connectionString: string; version: string } | undefined {
  const { connectionString = '', runningVersion = '' } = cluster?.status ?? {}
  if (cluster === undefined || connectionString === '') return undefined
  return { connectionString, version: runningVersion === '' ? cluster.spec.version : runningVersion }
}

function optionsOf(name: string, spec: RestoreSpec) {
  const { blobStoreConfiguration, backupURL: given = '', keyRanges = [], backupVersion, encryptionKeyPath } = spec
  return {
    url: blobStoreConfiguration === undefined ? given : backupURL(blobStoreConfiguration, name),
    keyRanges,
    ...(backupVersion !== undefined && { version: backupVersion }),
    ...(encryptionKeyPath !== undefined && { encryptionKeyPath }),
  }
}
