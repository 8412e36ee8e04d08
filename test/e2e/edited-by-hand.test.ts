// Tests Executions and statuses that a user edits while jobs run: each job either ends with an error that names the
// edit, or ignores the edit. Source: spec/landscaper.md 2.2, 2.8, docs/concepts/architecture.md "Writes, fields, errors".

import { gzipSync } from 'node:zlib'
import { describe, expect, it } from 'vitest'
import { installation, item, type Item, type LsObject, waitingItem } from '../support/cluster/cluster.ts'
import { useStage } from '../support/pawl/stage.ts'

const stage = useStage('edited-by-hand')

/** Starts a job and waits until its item `slow` runs. */
async function start(name: string, items: readonly Item[] = [waitingItem('slow')]): Promise<LsObject> {
  await stage.cluster.create(installation(name, items), 'installations')
  // The host writes its own phase last.
  await stage.cluster.waitUntil('installations', name, (root) => root?.status?.phase === 'Progressing')
  return await slow(name)
}

async function slow(name: string, after?: string): Promise<LsObject> {
  const isRunning = (one: LsObject | undefined) =>
    one?.status?.phase === 'Progressing' && one.status.jobID !== after && one.status.jobIDFinished !== one.status.jobID
  return (await stage.cluster.waitUntilItems(name, ['slow'], isRunning)).get('slow')!
}

async function status(plural: string, name: string, patch: object): Promise<LsObject> {
  return await stage.cluster.patch(plural, name, { status: patch }, 'status')
}

describe.concurrent('an execution whose spec is edited while it runs', () => {
  it('fails for an added item after the running items end; the next job restores the spec from its installation', async () => {
    const { cluster, pawl } = stage
    const running = await start('more')
    const deployItems = [waitingItem('slow'), { name: 'new' }].map(item)
    const edited = await cluster.patch('executions', 'more', { spec: { deployItems, deployItemsCompressed: null } })
    await pawl.waitUntilJournaled(edited)
    await cluster.finishItem(running, 'Succeeded')
    const failed = await cluster.waitUntilFinished('more')
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    expect((await cluster.get('executions', 'more'))?.status?.lastError).toMatchObject({
      reason: 'DeployItemsFailed',
      message: 'deploy item "new" failed',
    })

    await cluster.trigger('more')
    await cluster.finishItem(await slow('more', failed.status?.jobID), 'Succeeded')
    expect((await cluster.waitUntilFinished('more', failed.status?.jobID)).status).toMatchObject({ phase: 'Succeeded' })
    expect(await cluster.phases('more')).toEqual({ slow: 'Succeeded' })
  })

  it('fails with ERR_CONFIGURATION_PROBLEM when its spec cannot be decoded, and keeps its items', async () => {
    const { cluster, pawl } = stage
    const running = await start('unreadable')
    const deployItemsCompressed = gzipSync('{}').toString('base64')
    const spec = { deployItems: null, deployItemsCompressed }
    await pawl.waitUntilJournaled(await cluster.patch('executions', 'unreadable', { spec }))
    await cluster.finishItem(running, 'Succeeded')
    expect((await cluster.waitUntilFinished('unreadable')).status).toMatchObject({ phase: 'Failed' })
    expect((await cluster.get('executions', 'unreadable'))?.status?.lastError).toMatchObject({
      operation: 'handlePhaseProgressing',
      reason: 'ERR_CONFIGURATION_PROBLEM',
      message: expect.stringContaining('expected a gzipped JSON list of deploy items') as string,
    })
    const left = (await cluster.items('unreadable')).get('slow')
    expect(left?.metadata).toMatchObject({ uid: running.metadata.uid })
    expect(left?.metadata.deletionTimestamp).toBeUndefined()
  })
})

describe.concurrent('a job ID that a user removes or replaces while the job runs', () => {
  it.each([
    ['an execution', 'executions', 'no/job ID'],
    ['a deploy item', 'deployitems', null],
  ])('from %s is set again', async (_, plural, jobID) => {
    const { cluster, pawl } = stage
    const name = `job-of-${plural}`
    const running = await start(name)
    const edited = plural === 'executions' ? name : running.metadata.name
    await status(plural, edited, { jobID })
    await cluster.waitUntil(plural, edited, (it) => it?.status?.jobID === running.status?.jobID)
    await cluster.finishItem((await cluster.items(name)).get('slow')!, 'Succeeded')
    const finished = await cluster.waitUntilFinished(name)
    expect(finished.status).toMatchObject({ phase: 'Succeeded', jobIDFinished: running.status?.jobID })
    expect(await pawl.jobs(finished)).toHaveLength(1)
  })

  it('from an installation blocks neither the next job nor the deletion', async () => {
    const { cluster, pawl } = stage
    await cluster.create(installation('root', [{ name: 'only' }]), 'installations')
    const first = await cluster.waitUntilFinished('root')
    await pawl.waitUntilSettled(await status('installations', 'root', { jobID: 'no/job ID' }))
    await cluster.trigger('root')
    const second = await cluster.waitUntilFinished('root', 'no/job ID')
    expect(second.status).toMatchObject({ phase: 'Succeeded' })
    expect(second.status?.jobID).not.toBe(first.status?.jobID)
    await pawl.waitUntilSettled(second)
    await status('installations', 'root', { jobID: 'no/job ID' })
    await cluster.delete('installations', 'root')
    await cluster.waitUntilGone('root')
  })
})

describe.concurrent('an unknown phase', () => {
  it.each([
    ['installations', 'Sleeping'],
    // A property of every JavaScript object.
    ['executions', 'constructor'],
  ])('ends the job of one of the %s with the expected phases: %s', async (plural, phase) => {
    const { cluster } = stage
    const name = `phase-${plural}`
    await start(name)
    await status(plural, name, { phase })
    // A patch of the Execution wakes its controller. The Installation is read only when its Execution ends.
    if (plural === 'installations') await cluster.finishItem(await slow(name), 'Succeeded')
    const failed = await cluster.waitUntilFinished(name)
    expect(failed.status).toMatchObject({ phase: 'Failed' })
    expect((await cluster.get(plural, name))?.status?.lastError).toMatchObject({
      reason: 'UnknownPhase',
      message: expect.stringContaining(`status.phase: found "${phase}"; expected one of Init, `) as string,
    })
  })
})

describe.concurrent('an execution whose job a user has ended', () => {
  it('fails its installation; the next job starts from the beginning', async () => {
    const { cluster } = stage
    const running = await start('ended')
    await status('executions', 'ended', { jobIDFinished: running.status?.jobID })
    const failed = await cluster.waitUntilFinished('ended')
    expect(failed.status).toMatchObject({
      phase: 'Failed',
      lastError: { message: 'Execution "ended" is Progressing' },
    })
    // The running item ends before the next job starts.
    await cluster.finishItem(running, 'Succeeded')
    await cluster.patch('installations', 'ended', installation('ended', [{ name: 'slow' }, { name: 'new' }]))
    const next = await cluster.waitUntilFinished('ended', failed.status?.jobID)
    expect(next.status).toMatchObject({ phase: 'Succeeded' })
    expect(await cluster.phases('ended')).toEqual({ slow: 'Succeeded', new: 'Succeeded' })
  })
})
