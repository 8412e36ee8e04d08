// Items that no deployer picks up. Source: spec/landscaper.md 2.10.

import { describe, expect, it, vi } from 'vitest'
import { installation, type LsObject, waitingItem } from '../support/cluster/cluster.ts'
import { Deployer } from '../support/landscaper/deployer.ts'
import { useStage } from '../support/pawl/stage.ts'

// Long enough for the test's own deployers on a busy machine, which have the same time-out.
const PICKUP_S = 10
const PICKUP_MS = PICKUP_S * 1000
const NO_PASS_MS = 5000
const TOO_LATE = new RegExp(
  `^spec\\.type: no deployer has started items of type "\\S+" for \\d+s \\(--pickup-timeout: ${PICKUP_S}s\\); start its deployer, or use a type that Pawl deploys: \\S+/kubernetes-manifest, \\S+/mock$`,
)

const stage = useStage('pickup', () => Promise.resolve({ workerFlags: ['--pickup-timeout', `${PICKUP_S}s`] }))

function lateness({ status }: LsObject, type: string) {
  expect(status?.lastError).toMatchObject({
    operation: 'WaitingForPickup',
    reason: 'PickupTimeout',
    codes: ['ERR_TIMEOUT'],
    message: expect.stringMatching(TOO_LATE) as string,
  })
  expect(status?.lastError?.message).toContain(`of type "${type}" for `)
  return (
    Date.parse(status?.transitionTimes?.['finishedTime'] ?? '') - Date.parse(String(status?.['jobIDGenerationTime']))
  )
}

/**
 * Waits for a pass of the item's host after the pickup timeout. A run that saw the pickup before it ended its pass, as on a
 * slow machine, has no such pass: then the wait ends 5 s after the timeout.
 */
async function overduePass({ metadata, status }: LsObject): Promise<void> {
  const due = new Date(Date.parse(String(status?.['jobIDGenerationTime'])) + PICKUP_MS)
  const uid = metadata.ownerReferences?.[0]?.uid ?? ''
  await vi.waitFor(
    async () => {
      if (Date.now() > due.getTime() + NO_PASS_MS) return
      const execution = stage.pawl.db.selectFrom('object').select('owner_uid').where('uid', '=', uid)
      const job = stage.pawl.db
        .selectFrom('job')
        .select('uid')
        .where((where) => where.or([where('uid', '=', uid), where('uid', 'in', execution)]))
      expect(await job.where('last_pass_at', '>', due).execute()).toHaveLength(1)
    },
    { timeout: PICKUP_MS + 60_000, interval: 50 },
  )
}

describe.concurrent('an item that no deployer takes up', () => {
  it('an item without a deployer fails after the pickup timeout; its siblings are not changed', async () => {
    const { cluster, pawl } = stage
    const type = 'example.org/absent'
    await cluster.create(
      installation('absent', [{ name: 'alone', type }, waitingItem('own'), { name: 'next', dependsOn: ['alone'] }]),
      'installations',
    )
    const items = await cluster.waitUntilItems('absent', ['alone'], (item) => item?.status?.phase === 'Failed')
    const waitedMs = lateness(items.get('alone')!, type)
    expect(waitedMs).toBeGreaterThanOrEqual(PICKUP_MS)
    expect(waitedMs).toBeLessThan(PICKUP_MS + 60_000)

    const siblings = await cluster.waitUntilItems('absent', ['own'], (item) => item?.status?.phase === 'Progressing')
    await cluster.finishItem(siblings.get('own')!, 'Succeeded')
    const failed = await cluster.waitUntilFinished('absent')
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    expect(await cluster.phases('absent')).toEqual({ alone: 'Failed', own: 'Succeeded', next: undefined })
    await pawl.waitUntilSettled(failed)
  })

  it('a deletion of an item without a deployer fails, and continues with the annotation for deletion without uninstall', async () => {
    const { cluster, pawl } = stage
    const type = 'example.org/vanished'
    const deployer = Deployer.start(cluster, type)
    await cluster.create(installation('vanished', [{ name: 'only', type }]), 'installations')
    expect((await cluster.waitUntilFinished('vanished')).status?.phase).toBe('Succeeded')
    await deployer.stop()
    await cluster.delete('installations', 'vanished')
    const failed = await cluster.waitUntil('installations', 'vanished', (it) => it?.status?.phase === 'DeleteFailed')
    const item = (await cluster.items('vanished')).get('only')!
    expect(item.status?.phase).toBe('DeleteFailed')
    lateness(item, type)
    await pawl.waitUntilSettled(failed)

    const annotations = { 'landscaper.gardener.cloud/delete-without-uninstall': 'true' }
    await cluster.patch('installations', 'vanished', { metadata: { annotations } })
    await cluster.trigger('vanished')
    await cluster.waitUntilGone('vanished')
  })
})

describe.concurrent('an item that a deployer has taken up', () => {
  it('an item that was picked up may run longer than the pickup timeout, with any time format of its deployer', async () => {
    const { cluster, pawl } = stage
    const type = 'example.org/slow'
    await cluster.create(installation('slow', [{ name: 'only', type }]), 'installations')
    const triggered = (
      await cluster.waitUntilItems('slow', ['only'], (item) => item?.status?.['jobIDGenerationTime'] !== undefined)
    ).get('only')!
    // The pass that triggered the item must end and wait for the pickup; a pass that is still running would see the pickup at once.
    await cluster.waitUntil('installations', 'slow', (it) => it?.status?.phase === 'Progressing')
    // Whole seconds, like Go's metav1.Time: earlier than the trigger.
    const lastReconcileTime = `${String(triggered.status?.['jobIDGenerationTime']).slice(0, 19)}Z`
    const status = { phase: 'Progressing', lastReconcileTime }
    const taken = await cluster.patch('deployitems', triggered.metadata.name, { status }, 'status')
    await overduePass(taken)
    const after = (await cluster.items('slow')).get('only')!
    expect(after).toEqual(taken)
    await cluster.finishItem(after, 'Succeeded')
    const finished = await cluster.waitUntilFinished('slow')
    expect(finished.status).toMatchObject({ phase: 'Succeeded' })
    await pawl.waitUntilSettled(finished)
  })
})
