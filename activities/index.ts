// All activities: everything that touches the world. Workflows import the type only.

import { createManifestDeployer } from './deploy/manifest/deployer.ts'
import { mockActivities } from './deploy/mock.ts'
import { observeActivities as observeDeployGroup } from './deploy/observe.ts'
import { itemActivities } from './deploy/item-activities.ts'
import { sendActivities } from './deploy/send-items.ts'
import { Sending } from './deploy/sending.ts'
import type { Deps } from './deps.ts'
import { deployItemActivities } from './execution/deploy-items.ts'
import { endItemActivities } from './execution/end-items.ts'
import { exportActivities as executionExports } from './execution/exports.ts'
import { observeActivities as observeExecution } from './execution/observe.ts'
import { adoptActivities } from './installation/adopt.ts'
import { applyExecutionActivities } from './installation/apply-execution.ts'
import { childExecutionActivities } from './installation/child-execution.ts'
import { exportActivities as installationExports } from './installation/exports.ts'
import { interruptActivities } from './installation/interrupt.ts'
import { observeActivities as observeInstallation } from './installation/observe.ts'
import { beginActivities } from './kube/begin.ts'
import { finalizeActivities } from './kube/finalize.ts'
import { statusActivities } from './kube/status.ts'
import { observeActivities as observeLevel } from './level/observe.ts'
import { settleActivities as settleLevel } from './level/settle.ts'
import { writeActivities as writeLevel } from './level/write.ts'

export type { Deps } from './deps.ts'
export type Activities = ReturnType<typeof createActivities>

export function createActivities(deps: Deps) {
  const deployers = [createManifestDeployer()]
  const sending = new Sending()
  return {
    ...statusActivities(deps),
    ...beginActivities(deps),
    ...finalizeActivities(deps),
    ...observeInstallation(deps),
    ...adoptActivities(deps),
    ...applyExecutionActivities(deps),
    ...childExecutionActivities(deps),
    ...interruptActivities(deps),
    ...installationExports(deps),
    ...observeExecution(deps),
    ...deployItemActivities(deps),
    ...endItemActivities(deps),
    ...executionExports(deps),
    ...observeDeployGroup(deps),
    ...mockActivities(deps),
    ...observeLevel(deps),
    ...writeLevel(deps),
    ...settleLevel(deps),
    ...sendActivities(deps, deployers, sending),
    ...itemActivities(deps, deployers, sending),
  }
}
