// The step of a restore: starts it once, and reports its state each minute until it ends. Source: spec/foundationdb.md 2.28.
//
//   R1. A restore starts only if the database has had none, or one of another backup before this object: afterwards its keys may be newer than the backup.

import type { RestoreStatus } from '../../../../activities/foundationdb/database/backup-tools.ts'
import { problemText } from '../../../kit/index.ts'
import { addressOf, noDatabase } from '../../observed-cluster.ts'
import { progressStep } from '../../progress.ts'
import { backupURL } from '../../resources/backup-url.ts'
import { RESTORE_STATES, type RestoreSpec } from '../kind.ts'
import type { RestorePass } from '../pass.ts'
import { restoreCalls } from '../restore-calls.ts'
import { restoreProblems } from '../rules/spec.ts'

const POLL_MS = 60_000
/** A started restore is soon visible. */
const FIRST_POLL_MS = 2000
/** fdbrestore prints this for a tag without a restore, in this spelling. */
const NONE: ReadonlySet<string> = new Set(['unitialized', 'uninitialized'])
const ENDED: ReadonlySet<string> = new Set(['completed', 'aborted'])

export const startRestore = progressStep<RestorePass>('StartRestore', async (pass) => {
  const { target, state } = pass
  const { metadata, spec } = target
  // A cluster may have no webhook.
  const problems = restoreProblems(target)
  if (problems.length > 0) return problems.map(problemText).join('; ')
  const address = addressOf(state.cluster, spec.customParameters)
  if (address === undefined) return noDatabase(spec.destinationClusterName)
  const calls = pass.call(restoreCalls)
  const found = await calls.readRestoreStatus(address)
  if ('failure' in found) return found.failure.message
  const status = pass.status as Record<string, unknown>
  const options = optionsOf(metadata.name, spec)
  const current = stateOf(found.value, options.url, target.status?.running === true)
  if (current !== undefined) {
    status['running'] = true
    status['state'] = RESTORE_STATES.find((one) => one === current) ?? 'Unknown'
    return ENDED.has(current) ? undefined : { message: `the restore is ${current}`, againMs: POLL_MS }
  }
  const started = await calls.startRestore({ ...address, options })
  if ('failure' in started) return started.failure.message
  status['running'] = true
  status['state'] = 'queued'
  return { message: 'the restore is queued', againMs: FIRST_POLL_MS }
})

/** R1. Undefined: this restore has not started. */
function stateOf({ state, url }: RestoreStatus, ownURL: string, hasStarted: boolean): string | undefined {
  if (state === undefined || NONE.has(state)) return undefined
  const isOther = !hasStarted && url !== undefined && url !== ownURL
  return isOther && ENDED.has(state) ? undefined : state
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
