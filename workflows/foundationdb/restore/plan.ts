// The plan of a restore: the step of the seed. Source: seeds/foundationdb-operator-technical-design.txt "Restore Reconciliation".

import { always, type Step } from '../../kit/index.ts'
import { type BlockedStep, blockedSteps, reportProgress } from '../progress.ts'
import type { RestorePass } from './pass.ts'
import { startRestore } from './steps/start-restore.ts'

const ABORTED: BlockedStep = {
  step: startRestore.name,
  message: 'the restore was aborted; restore into another cluster, or start the restore with fdbrestore',
  hasStopped: true,
}

const reportRestoreProgress = reportProgress<RestorePass>((pass) => {
  const state = pass.status.state ?? pass.target.status?.state
  const blocked = state === 'aborted' ? [ABORTED] : blockedSteps(pass)
  return { blocked, isComplete: blocked.length === 0, wasComplete: pass.target.status?.state === 'completed' }
})

export const reconcileRestore: Step<RestorePass> = always(startRestore, reportRestoreProgress)
