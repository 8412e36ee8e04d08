// Previews a job of an Execution: runs its plan with items that succeed as soon as they start. Whether the items would succeed is checked by the
// deployers' preview (activities/landscaper/deploy/run/preview-items.ts).

import type { ChildExecution } from '../../../activities/landscaper/installation/views.ts'
import type { DeployItemView } from '../../../activities/landscaper/deploy-item-view.ts'
import type { ExecutionView } from '../../../activities/landscaper/execution/views.ts'
import { type DryRunRequest, type DryRunItem, type DryRunJob, dryRunPhases, groupKindOf } from '../../kit/index.ts'
import { deployItemKind } from '../deploy-item/kind.ts'
import { observeExecution } from './observe-execution.ts'
import type { ExecutionActivities, ExecutionPass, ExecutionState } from './pass.ts'
import { executionPlan } from './plan.ts'

type ObservedState = ExecutionState & { readonly target: ExecutionView | ChildExecution }

/** @param act the activities of an Execution's passes; their writes must not be persisted. */
export async function previewExecution(act: ExecutionActivities, asked: DryRunRequest): Promise<DryRunJob> {
  const input = { subject: asked.subject, jobID: asked.jobID, cause: 'plan' }
  const found = await observeExecution(act, input, asked.by, () => undefined)
  if (found === undefined)
    throw new Error(`execution "${asked.subject.namespace}/${asked.subject.name}" does not exist`)
  return (await previewItems(act, asked, found)).job
}

/** Previews a job of an Execution that was observed already. */
export async function previewItems(
  act: ExecutionActivities,
  { subject, jobID, by, runtime }: DryRunRequest,
  found: ObservedState,
): Promise<{ readonly job: DryRunJob; readonly state: ExecutionState }> {
  const startedItems: DeployItemView[] = []
  const pass: ExecutionPass = {
    subject,
    jobID,
    by,
    state: { ...found, target: { ...found.target, jobID } },
    act: {
      ...act,
      ...recordedActivities(() => pass, startedItems),
      async releaseDeployItems(input) {
        const uids = new Set(input.items.map(({ uid }) => uid))
        startedItems.push(...pass.state.deployItems.filter(({ uid }) => uids.has(uid)))
        return await act.releaseDeployItems(input)
      },
    },
    draft: { phase: 'Init', observedGeneration: found.target.generation, lastError: undefined, ...EMPTY_DRAFT },
    background: { has: () => false, start: () => undefined, retain: () => undefined },
    wake: () => undefined,
    hosted: [],
  }
  const ran = await dryRunPhases(executionPlan, pass, {
    runtime,
    from: 'Init',
    until: 'Completing',
    enters: () => undefined,
  })
  const { end, told: reason } = ran
  const job = { subject, end, ...(reason !== undefined && { told: reason }), items: withLevels(startedItems), jobs: [] }
  return { job, state: pass.state }
}

const EMPTY_DRAFT = { conditions: [], marks: [], fields: {} }

/** Replaces the activities that start items: they record each item and report it as succeeded, or as deleted. */
function recordedActivities(
  pass: () => ExecutionPass,
  startedItems: DeployItemView[],
): Pick<ExecutionActivities, 'deployMockItems' | 'sendItems' | 'triggerDeployItems'> {
  const end = (given: readonly { readonly uid: string }[]) => {
    const { state, jobID } = pass()
    const uids = new Set(given.map(({ uid }) => uid))
    const items = state.deployItems.filter(({ uid }) => uids.has(uid))
    startedItems.push(...items)
    const isLeaving = ({ uninstalls, deleting }: DeployItemView) => uninstalls || deleting
    return {
      ended: items
        .filter((item) => !isLeaving(item))
        .map((item) => ({ ...item, jobID, jobIDFinished: jobID, phase: 'Succeeded' })),
      gone: items.filter(isLeaving),
    }
  }
  return {
    deployMockItems({ items }) {
      const { ended, gone } = end(items)
      return Promise.resolve({ items: ended, gone: gone.map(({ uid }) => uid), failures: [] })
    },
    sendItems({ items }) {
      const { ended, gone } = end(items)
      const left = ended.map((item) => ({ uid: item.uid, result: { item, isWaiting: false } }))
      const away = gone.map(({ uid }) => ({ uid, result: { item: undefined, isWaiting: false } }))
      return Promise.resolve({ sent: [...left, ...away] })
    },
    triggerDeployItems({ items }) {
      const { ended, gone } = end(items)
      return Promise.resolve({ items: ended, gone: gone.map(({ name }) => name), failures: [] })
    },
  }
}

const itemKind = groupKindOf(deployItemKind)

/** `startedItems` is in topological order: the level of an item is one above the highest level of its dependencies. */
function withLevels(startedItems: readonly DeployItemView[]): readonly DryRunItem[] {
  const levels = new Map<string, number>()
  return startedItems.map(({ name, item, type, dependsOn, deleting, uninstalls: isAway }) => {
    const uninstalls = isAway || deleting
    const level = uninstalls ? 1 : 1 + Math.max(0, ...dependsOn.map((one) => levels.get(one) ?? 0))
    if (!uninstalls) levels.set(item, level)
    return { ...itemKind, name, item, type, level, uninstalls }
  })
}
