// A crash of a worker while many items wait for readiness. Temporal stores the waiting activities, so the next worker continues them, and writes nothing
// until an object changes.

import { expect, vi } from 'vitest'
import type { LsObject } from '../../cluster/cluster.ts'
import { conditionOf } from '../../cluster/kstatus.ts'
import { createTarget, start } from '../../landscaper/manifests.ts'
import { bindPods, unschedulableDeployment } from '../../cluster/unschedulable-pods.ts'
import type { Lane } from '../lane.ts'

const TARGET = 'waiting'
const EXECUTION = 'many'
const NAMES = Array.from({ length: 20 }, (_, index) => `waits-${index}`)
// An item's condition is up to date from the sixth look on.
const SETTLED_LOOKS = 8
const PATIENT = { timeout: 60_000, interval: 200 }

export async function crashWhileItemsWait(lane: Lane): Promise<void> {
  const { cluster, proxy, pawl } = lane
  await createTarget(cluster, TARGET)
  const items = NAMES.map((name) => ({
    name,
    target: TARGET,
    manifests: [unschedulableDeployment(name, cluster.namespace, 2)],
  }))
  await start(cluster, EXECUTION, items)
  await vi.waitFor(async () => expect(await looks(lane)).toSatisfy(areAll(SETTLED_LOOKS)), PATIENT)
  // After this, no status that an item shows changes: each Deployment has all its pods, and the item's condition says so.
  await vi.waitFor(async () => expect(await rollOuts(lane)).toEqual(NAMES.map(() => ROLLED_OUT)), PATIENT)
  await cluster.waitUntilItems(EXECUTION, NAMES, hasMessage('0 of 2 replicas available'))

  await pawl.kill('worker')
  proxy.arm()
  const most = Math.max(...(await looks(lane)))
  await pawl.startWorker()
  // A look that died with its worker counts as an attempt.
  await vi.waitFor(async () => expect(await looks(lane)).toSatisfy(areAll(most + 2)), PATIENT)
  expect(proxy.writes.filter(({ label }) => !label.endsWith('/token'))).toEqual([])
  expect(await cluster.phases(EXECUTION)).toEqual(Object.fromEntries(NAMES.map((name) => [name, 'Progressing'])))

  await bindPods(cluster, NAMES)
  const { status } = await cluster.waitUntilFinished(EXECUTION, undefined, 'executions')
  expect(status?.phase).toBe('Succeeded')
  const ends = proxy.writes.filter(
    ({ label, status, body }) =>
      label === 'PATCH deployitems/status' &&
      status < 300 &&
      (body['status'] as { phase?: string } | undefined)?.phase !== undefined,
  )
  expect(ends).toHaveLength(NAMES.length)
  expect(proxy.writes.filter(({ label }) => label.includes('deployments'))).toEqual([])
}

/** Per waiting item: the attempts of its activity, which are its looks at the object. */
async function looks({ cluster, pawl }: Lane): Promise<readonly number[]> {
  const root = await cluster.get('executions', EXECUTION)
  const { workflow_id: id } = await pawl.db
    .selectFrom('job')
    .select('workflow_id')
    .where('uid', '=', root?.metadata.uid ?? '')
    .where('outcome', 'is', null)
    .executeTakeFirstOrThrow()
  const { raw } = await pawl.client.workflow.getHandle(id).describe()
  const waits = (raw.pendingActivities ?? []).filter(({ activityType }) => activityType?.name === 'awaitItem')
  return waits.map(({ attempt }) => attempt ?? 0)
}

const ROLLED_OUT = { isObserved: true, updatedReplicas: 2 }

/** The state of the Deployment of each item. */
async function rollOuts({ cluster }: Lane) {
  const deployments = await cluster.list('deployments', 'apps/v1')
  return deployments
    .filter(({ metadata: { name } }) => NAMES.includes(name))
    .map(({ metadata: { generation }, status }) => ({
      isObserved: status?.observedGeneration === generation,
      updatedReplicas: status?.['updatedReplicas'],
    }))
}

function hasMessage(text: string) {
  return (item: LsObject | undefined) => conditionOf(item, 'ResourcesReady')?.message.includes(text) === true
}

function areAll(least: number) {
  return (attempts: readonly number[]) => attempts.length === NAMES.length && attempts.every((one) => one >= least)
}
