// Steps 1 and 24. Brings the status up to date with the database and the objects of the cluster, and checks whether the generation is reconciled. Source:
// seeds/foundationdb-operator-technical-design.txt UpdateStatus; spec/foundationdb.md 2.1, 2.25.

import { joinNames, type Step } from '../../../kit/index.ts'
import { headlessServiceName } from '../../model/process-group-id.ts'
import { wasUnblocked } from '../../progress.ts'
import { clusterStep } from '../cluster-step.ts'
import {
  availableDatabase,
  type ClusterContext,
  databaseAddress,
  processGroupsIn,
  readDatabase,
  updateStatus,
} from '../context.ts'
import { eagerDelay } from '../eager-delay.ts'
import { expectedObjects } from '../expected-objects.ts'
import { lockInput } from '../lock.ts'
import { hasCurrentConfiguration, observeDatabase } from '../observe-database.ts'
import { hasTaintOptions, readTaintedNodes } from '../node-taints.ts'
import { observeProcessGroups } from '../observe-process-groups.ts'
import type { ClusterPass } from '../pass.ts'
import { isHealthy, isMarked } from '../process-groups.ts'
import { recoveringDelay } from '../recovery-delay.ts'
import { checkReconciliation } from '../reconciliation-check.ts'
import { continueWith, lookAgain, type StepResult } from '../requeue.ts'

const NOT_RECONCILED_MS = 10_000
const UNREADABLE_MS = 10_000
const UNHEALTHY_MS = 30_000
const NODES_MS = 60_000
const MOST_GROUPS = 3

export const updateStatusFirst: Step<ClusterPass> = clusterStep('UpdateStatus', async (context) => {
  await observeAll(context)
  return await unreadable(context)
})

export const updateStatusLast: Step<ClusterPass> = clusterStep('UpdateStatus (again)', async (context) => {
  const isReconciled = await observeAll(context)
  if (!isReconciled) {
    const delayMs = eagerDelay(context, ['MissingProcesses', 'IncorrectCommandLine'], NOT_RECONCILED_MS)
    return continueWith(needsText(context), delayMs)
  }
  await releaseLock(context)
  return (await unreadable(context)) ?? (await unhealthy(context)) ?? nodesAgain(context)
})

/** The fields of `status.generations`, and the process groups that are not healthy. */
function needsText(context: ClusterContext): string {
  const fields = Object.keys(context.status.generations ?? {}).filter((field) => field !== 'reconciled')
  const unhealthy = processGroupsIn(context).filter((group) => !isMarked(group) && !isHealthy(group))
  const groups = unhealthy.map(({ processGroupID, processGroupConditions = [] }) => {
    const types = processGroupConditions.map(({ type }) => type)
    return `${processGroupID} (${types.join(', ')})`
  })
  const text = groups.length === 0 ? '' : `; not healthy: ${joinNames(groups, MOST_GROUPS)}`
  return `the cluster still has: ${fields.join(', ')}${text}`
}

/** @returns whether the generation is reconciled. */
async function observeAll(context: ClusterContext): Promise<boolean> {
  const status = await observeDatabase(context)
  await readTaintedNodes(context)
  const expected = expectedObjects(context)
  observeProcessGroups(context, status, expected)
  const { settings, services, configMap } = context
  const headless = services.some(({ metadata }) => metadata.name === headlessServiceName(settings.name))
  updateStatus(context, {
    hasIncorrectConfigMap: !expected.isConfigMapCurrent(configMap),
    hasIncorrectServiceConfig: headless !== settings.routing.headlessService,
    ...expected.inUse(),
  })
  await observeDenyList(context)
  return checkReconciliation(context, {
    isDatabaseKnown: status?.isAvailable === true,
    hasCurrentConfiguration: hasCurrentConfiguration(context, status),
  })
}

async function unreadable(context: ClusterContext): Promise<StepResult> {
  const reading = await readDatabase(context)
  if ('problem' in reading) return continueWith(`the database cannot be read: ${reading.problem}`, UNREADABLE_MS)
  if (!('status' in reading) || reading.status.isAvailable) return undefined
  const lost = reading.status.coordinators.filter(({ isReachable }) => !isReachable).map(({ address }) => address)
  const reason = lost.length === 0 ? '' : `; coordinators are not reachable: ${lost.join(', ')}`
  return continueWith(`the database is unavailable${reason}`, UNREADABLE_MS)
}

async function unhealthy(context: ClusterContext): Promise<StepResult> {
  const database = await availableDatabase(context)
  if (database === undefined || database.data.isHealthy === true) return undefined
  return lookAgain('the data distribution is not healthy', recoveringDelay(database, UNHEALTHY_MS))
}

/** Changes of Nodes wake no cluster: Nodes change too often. */
function nodesAgain({ settings }: ClusterContext): StepResult {
  return hasTaintOptions(settings) ? lookAgain('Nodes may get taints', NODES_MS) : undefined
}

async function observeDenyList(context: ClusterContext): Promise<void> {
  const { denyList, isUsed } = context.settings.lock
  const address = databaseAddress(context)
  const isKnown = context.status.locks !== undefined && context.blocked.length === 0
  if (denyList.length === 0) {
    if (context.status.locks !== undefined) updateStatus(context, { locks: undefined })
    return
  }
  if (!isUsed || address === undefined || context.status.configured !== true || isKnown) return
  const result = await context.calls.readDenyList({ ...address, ...lockInput(context) })
  if ('value' in result) updateStatus(context, { locks: { lockDenyList: result.value } })
}

/** Lets the controller of another Kubernetes cluster begin at once. A pass takes the lock also for a generation that was reconciled before. */
async function releaseLock(context: ClusterContext): Promise<void> {
  const address = databaseAddress(context)
  if (!context.settings.lock.isUsed || address === undefined || (wasUnblocked(context.pass.target) && !context.hasLock))
    return
  await context.calls.releaseLock({ ...address, ...lockInput(context) })
}
