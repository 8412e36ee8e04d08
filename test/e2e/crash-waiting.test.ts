// A worker is killed while many items wait for readiness. Their waiting is the server's, not the worker's: the next worker goes on with it
// and writes nothing until something has changed.

import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import type { LsObject } from '../support/cluster.ts'
import { closeLane, type Lane, openLane } from '../support/crash.ts'
import { createTarget, start } from '../support/manifests.ts'
import { givePlaces, withoutPlace } from '../support/placed-pods.ts'
import { conditionOf } from '../support/kstatus.ts'

const servers = inject('servers')
const NAMES = Array.from({ length: 20 }, (_, index) => `waits-${index}`)
// From the sixth look on an item's condition is kept up to date; the eighth is not the first of them.
const SETTLED_LOOKS = 8
// On a busy machine a process takes many seconds to start.
const LIMIT_MS = 240_000

let lane: Lane
beforeAll(async () => {
  lane = await openLane('crash-waiting', servers)
  await createTarget(lane.cluster)
}, LIMIT_MS)
afterAll(() => closeLane(lane))

describe('a worker that is killed while twenty items wait', () => {
  it(
    'is followed by one that goes on without a write, and ends each item with one',
    async () => {
      const { cluster, proxy, pawl } = lane
      await start(
        cluster,
        'many',
        NAMES.map((name) => ({ name, manifests: [withoutPlace(name, cluster.namespace, 2)] })),
      )
      await vi.waitFor(async () => expect(await looks()).toSatisfy(areAll(SETTLED_LOOKS)), PATIENT)
      // Nothing that an item could tell changes any more: its Deployment has all its pods, and the item says so.
      await vi.waitFor(async () => expect(await rollOuts()).toEqual(NAMES.map(() => ROLLED_OUT)), PATIENT)
      await cluster.untilItems('many', NAMES, says('0 of 2 replicas available'))

      await pawl.kill('worker')
      proxy.arm()
      const most = Math.max(...(await looks()))
      await pawl.startWorker()
      // A look that died with its worker counts, too.
      await vi.waitFor(async () => expect(await looks()).toSatisfy(areAll(most + 2)), PATIENT)
      expect(proxy.writes.filter(({ label }) => !label.endsWith('/token'))).toEqual([])
      expect(await cluster.phases('many')).toEqual(Object.fromEntries(NAMES.map((name) => [name, 'Progressing'])))

      await givePlaces(cluster, NAMES)
      const { status } = await cluster.finished('many', undefined, 'executions')
      expect(status?.phase).toBe('Succeeded')
      const ends = proxy.writes.filter(
        ({ status, body }) => status < 300 && (body['status'] as { phase?: string } | undefined)?.phase !== undefined,
      )
      expect(ends.filter(({ label }) => label === 'PATCH deployitems/status')).toHaveLength(NAMES.length)
      // Nothing was sent to the target again.
      expect(proxy.writes.filter(({ label }) => label.includes('deployments'))).toEqual([])
    },
    LIMIT_MS,
  )
})

const PATIENT = { timeout: 60_000, interval: 200 }

/** How often each item that waits was looked at, or is about to be: the tries of its call. */
async function looks(): Promise<readonly number[]> {
  const { cluster, pawl } = lane
  const root = await cluster.get('executions', 'many')
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

/** How far the cluster is with the Deployment of each item. */
async function rollOuts() {
  const deployments = await lane.cluster.list('deployments', 'apps/v1')
  return deployments.map(({ metadata: { generation }, status }) => ({
    isObserved: status?.observedGeneration === generation,
    updatedReplicas: status?.['updatedReplicas'],
  }))
}

function says(text: string) {
  return (item: LsObject | undefined) => conditionOf(item, 'ResourcesReady')?.message.includes(text) === true
}

function areAll(least: number) {
  return (tries: readonly number[]) => tries.length === NAMES.length && tries.every((one) => one >= least)
}
