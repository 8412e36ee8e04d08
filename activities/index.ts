// All activities: everything that touches the world. Workflows import the type only.

import { deployers } from './landscaper/deploy/deployers.gen.ts'
import { answerActivities } from './landscaper/deploy/run/answer-items.ts'
import { observeActivities as observeDeployGroup } from './landscaper/deploy/run/observe.ts'
import { itemActivities } from './landscaper/deploy/run/item-activities.ts'
import { sendActivities } from './landscaper/deploy/run/send-items.ts'
import { Sending } from './landscaper/deploy/run/sending.ts'
import type { Deps } from './deps.ts'
import { deployItemActivities } from './landscaper/execution/deploy-items.ts'
import { endItemActivities } from './landscaper/execution/end-items.ts'
import { exportActivities as executionExports } from './landscaper/execution/exports.ts'
import { observeActivities as observeExecution } from './landscaper/execution/observe.ts'
import { adoptActivities } from './landscaper/installation/adopt.ts'
import { applyExecutionActivities } from './landscaper/installation/apply-execution.ts'
import { childExecutionActivities } from './landscaper/installation/child-execution.ts'
import { exportActivities as installationExports } from './landscaper/installation/exports.ts'
import { interruptActivities } from './landscaper/installation/interrupt.ts'
import { observeActivities as observeInstallation } from './landscaper/installation/observe.ts'
import { beginActivities } from './run/begin.ts'
import { finalizeActivities } from './run/finalize.ts'
import { statusActivities } from './run/settle.ts'
import { observeActivities as observeLevel } from './run/level/observe.ts'
import { settleActivities as settleLevel } from './run/level/settle.ts'
import { writeActivities as writeLevel } from './run/level/write.ts'

export type { Deps } from './deps.ts'
export type Activities = ReturnType<typeof createActivities>

export function createActivities(deps: Deps) {
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
    ...answerActivities(deps, deployers),
    ...observeLevel(deps),
    ...writeLevel(deps),
    ...settleLevel(deps),
    ...sendActivities(deps, deployers, sending),
    ...itemActivities(deps, deployers, sending),
  }
}
