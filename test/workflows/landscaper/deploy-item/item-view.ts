// Items as runs see them.

import { deployer as mockDeployer } from '../../../../activities/landscaper/deploy/mock/deployer.ts'
import type { DeployItemView } from '../../../../activities/landscaper/deploy-item-view.ts'
import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'

export const JOB = 'job-2'

/** An item of a mock deployer that has the job, and has not ended it. */
export function itemView(item: string): DeployItemView {
  return {
    uid: `uid-${item}`,
    version: '5',
    name: `exec-${item}`,
    item,
    type: mockDeployer.type,
    dependsOn: [],
    deleting: false,
    finalizers: [FINALIZER],
    phase: 'Init',
    jobID: JOB,
    jobIDFinished: 'job-1',
    exportRef: undefined,
    remainingMs: undefined,
    uninstalls: false,
  }
}
