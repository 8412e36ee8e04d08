// Tests the jobs of Installations, and the order in which their items run. Source: seeds/landscaper-execution-controller.txt.

import { describe, expect, it, vi } from 'vitest'
import {
  CHAIN,
  type Cluster,
  DIAMOND,
  type Item,
  installation,
  type LsObject,
  OPERATION,
  waitingItem,
} from '../support/cluster/cluster.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('jobs')

async function run(name: string, items: readonly Item[]) {
  await stage.cluster.create(installation(name, items), 'installations')
  return await stage.cluster.waitUntilFinished(name)
}

describe.concurrent('an installation whose items all succeed', () => {
  it('leaves the whole tree finished with one job ID', async () => {
    const root = await run('single', [{ name: 'only' }])
    const execution = await stage.cluster.get('executions', 'single')
    const items = await stage.cluster.items('single')

    const jobID = root.status?.jobID
    expect(jobID).toMatch(/^[0-9a-f-]{36}$/)
    const finished = { phase: 'Succeeded', jobID, jobIDFinished: jobID }
    expect(root.status).toMatchObject({
      ...finished,
      observedGeneration: root.metadata.generation,
      executionRef: { name: 'single', namespace: 'jobs' },
    })
    expect(root.status?.lastError).toBeUndefined()
    expect(root.metadata.finalizers).toEqual(['finalizer.landscaper.gardener.cloud'])
    expect(root.spec?.['context']).toBe('default')
    expect(root.metadata.annotations ?? {}).toEqual({})
    expect(execution?.status).toMatchObject(finished)
    expect([...items.keys()]).toEqual(['only'])
    expect(items.get('only')?.status).toMatchObject(finished)
    expect(items.get('only')?.metadata.name).toMatch(/^single-only-[0-9a-f]{5}$/)
  })

  it('is one run in Temporal and one row in the journal, with the execution and the items in it', async () => {
    const root = await run('recorded', [{ name: 'only' }])
    await stage.pawl.waitUntilSettled(root)
    const rows = await stage.pawl.db
      .selectFrom('job')
      .select(['controller', 'outcome'])
      .where('job_id', '=', root.status?.jobID ?? '')
      .orderBy('controller')
      .execute()
    expect(rows).toEqual([{ controller: 'installation', outcome: 'Succeeded' }])
  })
})

describe.concurrent('a finished installation', () => {
  it('runs a second job on an unchanged spec without a write to the specs of its items', async () => {
    const first = await run('again', CHAIN)
    const before = await stage.cluster.items('again')
    await stage.cluster.trigger('again')
    const second = await stage.cluster.waitUntilFinished('again', first.status?.jobID)

    const after = await stage.cluster.items('again')
    expect(second.status?.phase).toBe('Succeeded')
    expect(generations(after)).toEqual(generations(before))
    expect([...after.values()].map(({ status }) => status?.jobIDFinished)).toEqual(
      CHAIN.map(() => second.status?.jobID),
    )
    expect(await stage.pawl.jobs(second)).toEqual([
      { jobID: first.status?.jobID, cause: 'reconcile annotation', outcome: 'Succeeded' },
      { jobID: second.status?.jobID, cause: 'reconcile annotation', outcome: 'Succeeded' },
    ])
  })

  it('updates only the items that its new blueprint changes', async () => {
    const first = await run('changed', [{ name: 'same' }, { name: 'other' }])
    const before = await stage.cluster.items('changed')
    const items = [{ name: 'same' }, { name: 'other', config: { providerStatus: { apiVersion: 'v1', kind: 'New' } } }]
    await stage.cluster.patch('installations', 'changed', installation('changed', items))
    await stage.cluster.waitUntilFinished('changed', first.status?.jobID)

    const after = await stage.cluster.items('changed')
    expect(generations(before)).toEqual({ same: 1, other: 1 })
    expect(generations(after)).toEqual({ same: 1, other: 2 })
    expect(after.get('other')?.status?.['providerStatus']).toEqual({ apiVersion: 'v1', kind: 'New' })
  })

  it('runs no job for a changed spec before the user sets the reconcile annotation', async () => {
    const first = await run('quiet', [{ name: 'only' }])
    const edited = await stage.cluster.patch('installations', 'quiet', edit([{ name: 'only' }, { name: 'new' }]))
    await stage.pawl.waitUntilSettled(edited)
    expect(await stage.pawl.jobs(first)).toHaveLength(1)
    expect((await stage.cluster.get('installations', 'quiet'))?.status).toEqual(first.status)
  })
})

describe.concurrent('an installation with reconcile-if-changed', () => {
  const annotations = { 'landscaper.gardener.cloud/reconcile-if-changed': 'true' }

  it('runs when it is new and when its spec changes, but not when its labels change', async () => {
    const options = { triggered: false, annotations }
    await stage.cluster.create(installation('on-change', [{ name: 'only' }], options), 'installations')
    const first = await stage.cluster.waitUntilFinished('on-change')
    const labelled = await stage.cluster.patch('installations', 'on-change', { metadata: { labels: { team: 'a' } } })
    await stage.pawl.waitUntilSettled(labelled)
    expect(await stage.pawl.jobs(first)).toHaveLength(1)

    await stage.cluster.patch('installations', 'on-change', edit([{ name: 'only' }, { name: 'new' }]))
    const second = await stage.cluster.waitUntilFinished('on-change', first.status?.jobID)
    expect(await stage.cluster.phases('on-change')).toEqual({ only: 'Succeeded', new: 'Succeeded' })
    await stage.pawl.waitUntilSettled(second)
    expect(await stage.pawl.jobs(first)).toEqual([
      { jobID: first.status?.jobID, cause: 'changed spec', outcome: 'Succeeded' },
      { jobID: second.status?.jobID, cause: 'changed spec', outcome: 'Succeeded' },
    ])
  })
})

describe.concurrent('an installation without any annotation', () => {
  it('stays as it was created', async () => {
    const created = await stage.cluster.create(
      installation('untouched', [{ name: 'only' }], { triggered: false }),
      'installations',
    )
    await stage.pawl.waitUntilSettled(created)
    expect(await stage.cluster.get('installations', 'untouched')).toEqual(created)
  })
})

describe.concurrent('a job whose installation changes meanwhile', () => {
  it('fails at its end when the spec was edited, and leaves the edit to the next job', async () => {
    const { cluster, pawl } = stage
    await cluster.create(installation('edited', [waitingItem('only')]), 'installations')
    const running = await runningItem('edited', 'only')
    await cluster.patch('installations', 'edited', edit([waitingItem('only'), { name: 'new' }]))
    await cluster.finishItem(running, 'Succeeded')
    const failed = await cluster.waitUntilFinished('edited')
    expect(failed.status).toMatchObject({
      phase: 'Failed',
      lastError: { operation: 'handlePhaseCompleting', reason: 'CheckObservedGeneration' },
    })
    expect(await cluster.phases('edited')).toEqual({ only: 'Succeeded' })
    await pawl.waitUntilSettled(failed)

    await cluster.trigger('edited')
    await cluster.finishItem(await runningItem('edited', 'only', failed.status?.jobID), 'Succeeded')
    const succeeded = await cluster.waitUntilFinished('edited', failed.status?.jobID)
    expect(succeeded.status).toMatchObject({ phase: 'Succeeded', observedGeneration: succeeded.metadata.generation })
    expect(await cluster.phases('edited')).toEqual({ only: 'Succeeded', new: 'Succeeded' })
  })

  it('is followed by exactly one job when the user sets the annotation twice', async () => {
    const { cluster, pawl } = stage
    await cluster.create(installation('annotated', [waitingItem('only')]), 'installations')
    const item = await runningItem('annotated', 'only')
    await cluster.trigger('annotated')
    await cluster.patch('installations', 'annotated', { metadata: { annotations: { [OPERATION]: null } } })
    await cluster.trigger('annotated')
    await cluster.finishItem(item, 'Succeeded')
    const again = await runningItem('annotated', 'only', item.status?.jobID)
    await cluster.finishItem(again, 'Succeeded')

    const second = await cluster.waitUntilFinished('annotated', item.status?.jobID)
    expect(await pawl.jobs(second)).toEqual([
      { jobID: item.status?.jobID, cause: 'reconcile annotation', outcome: 'Succeeded' },
      { jobID: again.status?.jobID, cause: 'reconcile annotation', outcome: 'Succeeded' },
    ])
  })

  it('finishes when the user deletes the installation, and then the deletion runs in a separate job', async () => {
    const { cluster, pawl } = stage
    await cluster.create(installation('deleted', [waitingItem('only')]), 'installations')
    const item = await runningItem('deleted', 'only')
    await cluster.delete('installations', 'deleted')
    const deleting = await cluster.waitUntil(
      'installations',
      'deleted',
      (it) => it?.metadata.deletionTimestamp !== undefined && it.status?.phase !== 'Init',
    )
    await pawl.waitUntilJournaled(deleting)
    expect(deleting.status).toMatchObject({ phase: 'Progressing', jobID: item.status?.jobID })

    await cluster.finishItem(item, 'Succeeded')
    await cluster.waitUntilGone('deleted')
    expect(await pawl.jobs(deleting)).toEqual([
      { jobID: item.status?.jobID, cause: 'reconcile annotation', outcome: 'Succeeded' },
      { jobID: expect.not.stringMatching(item.status?.jobID ?? '') as string, cause: 'deletion', outcome: 'Deleted' },
    ])
    expect(await cluster.items('deleted')).toEqual(new Map())
  })
})

/** Waits until the item waits in Progressing, in another job than `after`. */
async function runningItem(execution: string, name: string, after?: string) {
  const items = await stage.cluster.waitUntilItems(
    execution,
    [name],
    (item) => item?.status?.phase === 'Progressing' && item.status.jobID !== after,
  )
  return items.get(name)!
}

function edit(items: readonly Item[]) {
  return { spec: installation('', items).spec }
}

function generations(items: ReadonlyMap<string, LsObject>): Readonly<Record<string, number | undefined>> {
  return Object.fromEntries([...items].map(([name, { metadata }]) => [name, metadata.generation]))
}

describe.concurrent('the items of an installation', () => {
  it('run one after the other in a chain', async () => {
    await run('chain', CHAIN)
    // The journal follows the objects.
    await untilNoTrigger('chain', CHAIN)
  })

  it('run as soon as their predecessors are finished in a diamond', async () => {
    await run('diamond', DIAMOND)
    // The journal follows the objects.
    await untilNoTrigger('diamond', DIAMOND)
    expect(await stage.cluster.phases('diamond')).toEqual({
      top: 'Succeeded',
      left: 'Succeeded',
      right: 'Succeeded',
      bottom: 'Succeeded',
    })
  })

  it('are triggered together when they do not depend on each other, thirty of them too', async () => {
    const wide = Array.from({ length: 30 }, (_, index) => ({ name: `i${index}` }))
    await run('wide', wide)
    const items = [...(await stage.cluster.items('wide')).values()]
    expect(items.map(({ status }) => status?.phase)).toEqual(wide.map(() => 'Succeeded'))
    expect(new Set(items.map(({ status }) => status?.['jobIDGenerationTime'])).size).toBe(1)
  })
})

async function untilNoTrigger(execution: string, items: readonly Item[]): Promise<void> {
  const early = async () => await triggersWithoutPredecessor(stage.cluster, execution, items)
  await vi.waitFor(async () => expect(await early()).toEqual([]), { timeout: 30_000, interval: 50 })
}

/** Items whose trigger enters the journal before the end of one of their predecessors. */
async function triggersWithoutPredecessor(cluster: Cluster, execution: string, items: readonly Item[]) {
  const objects = await cluster.items(execution)
  const triggered = new Map<string, number>()
  const finished = new Map<string, number>()
  for (const [name, { metadata, status }] of objects) {
    const rows = await stage.pawl.db
      .selectFrom('watch_event')
      .select(['resource_version', 'projection'])
      .where('uid', '=', metadata.uid ?? '')
      .where('outcome', '<>', 'stale')
      .orderBy('resource_version')
      .execute()
    const statuses = rows.map(({ resource_version, projection }) => ({
      version: resource_version,
      ...(projection as { status?: { jobID?: string; jobIDFinished?: string } }).status,
    }))
    triggered.set(name, statuses.find(({ jobID }) => jobID === status?.jobID)?.version ?? NaN)
    finished.set(name, statuses.find(({ jobIDFinished }) => jobIDFinished === status?.jobID)?.version ?? NaN)
  }
  return items.filter(({ name, dependsOn = [] }) =>
    dependsOn.some((other) => !((finished.get(other) ?? NaN) < (triggered.get(name) ?? NaN))),
  )
}
