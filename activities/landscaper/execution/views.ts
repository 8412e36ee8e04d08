// The Execution as its workflow sees it: its graph and the states of its deploy items. Item configurations do not enter the workflow.

import { DEPLOYERS_CONDITION, type Execution } from '../../../workflows/landscaper/execution/kind.ts'
import { ownerOfKind, type TargetView } from '../../../workflows/kit/index.ts'
import { installationKind } from '../../../workflows/landscaper/installation/kind.ts'
import type { PausableView } from '../../../workflows/landscaper/pause.ts'
import { targetView } from '../../kube/object-views.ts'
import { pausableView } from '../pauses.ts'
import { NO_TRUST } from '../trust.ts'
import { interruptRequested, withoutUninstall } from '../requests.ts'
import type { TenantData } from '../bounded/tenant-data.ts'
import { decodeItems } from './items.ts'

export interface ItemView {
  readonly name: string
  readonly type: string
  readonly dependsOn: readonly string[]
}

export interface ExecutionView extends TargetView, PausableView {
  readonly items: readonly ItemView[]
  /** The reason why the items cannot be decoded, for the user. */
  readonly problem: string | undefined
  readonly withoutUninstall: boolean
  readonly interruptRequested: boolean
  /** Its job IDs come from a parent, which removes the interrupts of earlier jobs first. */
  readonly hasParent: boolean
  /** No run has worked on the job yet: an existing phase belongs to a previous job. */
  readonly isUnbegun: boolean
  /** Whether its last job has exports. */
  readonly hasExports: boolean
  /** Whether its condition names deployers that it waits for. */
  readonly namesDeployers?: boolean
}

/** @param data for the Execution's namespace. @param trust for the subject of a run: without it no name counts as verified. */
export async function executionView(
  object: Execution,
  data: Pick<TenantData, 'items'>,
  trust = NO_TRUST,
): Promise<ExecutionView> {
  const decoded = await decodeItems(object, data)
  const items = 'problem' in decoded ? [] : decoded.items
  return {
    ...targetView(object),
    items: items.map(({ name, type, dependsOn }) => ({ name, type, dependsOn: dependsOn ?? [] })),
    problem: 'problem' in decoded ? decoded.problem : undefined,
    withoutUninstall: withoutUninstall(object),
    interruptRequested: interruptRequested(object),
    hasParent: ownerOfKind(object, installationKind) !== undefined,
    isUnbegun: isUnbegun(object),
    hasExports: object.status?.exportRef !== undefined,
    namesDeployers: namesDeployers(object),
    ...pausableView(object, trust),
  }
}

const NOT_RUNNING: readonly string[] = ['', 'Succeeded', 'Failed', 'DeleteFailed']

// The trigger clears the time of the previous job.
function isUnbegun({ status }: Execution): boolean {
  return NOT_RUNNING.includes(status?.phase ?? '') || status?.transitionTimes?.initTime === undefined
}

function namesDeployers({ status }: Execution): boolean {
  return (status?.conditions ?? []).some((one) => one.type === DEPLOYERS_CONDITION && one.status === 'False')
}
