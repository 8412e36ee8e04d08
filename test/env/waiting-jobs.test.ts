// Events for jobs that wait for capacity: a real PostgreSQL, and a small API server that stores the Events.

import { randomUUID } from 'node:crypto'
import { describe, expect, inject, it } from 'vitest'
import { claimWakes, postponeWakes, upsertWakes } from '../../activities/journal/write/wakes.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { WaitingJobs } from '../../worker/reconciler/waiting-jobs.ts'
import { builtInRegistry } from '../../worker/server/registry.ts'
import { FINALIZER } from '../support/cluster/cluster.ts'
import { refusal } from '../activities/kube/tiny-api.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { journalObjects, wakeRow } from './dispatch-stage.ts'

const stage = useWriteStage(inject('servers').databaseUrl)
const NOW = Date.parse('2030-01-01T00:00:00Z')
const ago = (ms: number) => new Date(NOW - ms)
const MOST = 20

/** The reporter of one worker. */
function worker(): WaitingJobs {
  const { kube, log, now } = stage().deps
  return new WaitingJobs(
    { kube, log, now, registry: builtInRegistry, db: stage().database.db },
    { cluster: 'local', controllers: undefined, shares: [] },
  )
}

interface Asked {
  readonly count?: number
  readonly dueMs?: number
  /** Their job has ended. */
  readonly isOver?: boolean
  readonly mayStart?: boolean
}

/** Items without an owner, due at intervals of one millisecond. @returns their uids. */
async function ask(
  namespace: string,
  { count = 1, dueMs = 60_000, isOver = false, mayStart = true }: Asked = {},
): Promise<readonly string[]> {
  const { database } = stage()
  const uids = Array.from({ length: count }, (_, index) => `${namespace}-${index}-${randomUUID()}`)
  const status = { jobID: 'j1', ...(isOver && { jobIDFinished: 'j1', phase: 'Succeeded' }) }
  const items = uids.map((uid) => ({ uid, namespace, version: 1, finalizers: [FINALIZER], status }))
  await journalObjects(database, items, { cluster: 'local' })
  const wakes = uids.map((uid, index) =>
    wakeRow(uid, { cluster: 'local', namespace, due: ago(dueMs - index), may_start: mayStart }),
  )
  await upsertWakes(database.db, wakes, ago(3_600_000))
  return uids
}

const tellings = () =>
  [...stage().api.objects.values()].map((event) => {
    const { involvedObject, reason, message, type } = event as KubeObject & Record<string, string>
    return { uid: (involvedObject as unknown as { uid: string }).uid, reason, type, message }
  })

describe('many jobs that wait for capacity', () => {
  it('have one Event each from all workers, a few per poll, and do not delay Events of other namespaces', async () => {
    const crowd = await ask('crowd', { count: MOST + 10 })
    const [alone] = await ask('alone')
    const [one, other] = [worker(), worker()]
    await one.reportOnce()
    const first = tellings()
    expect(first.map(({ uid }) => uid).sort()).toEqual([...crowd.slice(0, MOST), alone].sort())
    const since = (ms: number) => `waits for a worker since ${ago(ms).toISOString()}`
    expect(first).toContainEqual({
      uid: alone,
      reason: 'WaitingForTurn',
      type: 'Normal',
      message: `${since(60_000)}: no other job of its namespace is ahead, and workers serve the namespaces in turns`,
    })
    expect(first.find(({ uid }) => uid === crowd[7])?.message).toBe(
      `${since(60_000 - 7)}: 7 of its namespace are ahead, and workers serve the namespaces in turns`,
    )
    await one.reportOnce()
    expect(tellings()).toHaveLength(crowd.length + 1)
    // Reported waits are not sent again; another worker finds the existing Events.
    stage().api.requests.length = 0
    await one.reportOnce()
    expect(stage().api.requests).toEqual([])
    await other.reportOnce()
    expect(stage().api.requests).toHaveLength(MOST + 1)
    expect(tellings()).toHaveLength(crowd.length + 1)
  })

  it('have different positions, also if they arrived at the same time', async () => {
    await ask('ns')
    await ask('ns')
    await worker().reportOnce()
    const places = tellings().map(({ message }) => /: (\d+|no other job) of its namespace/.exec(message ?? '')?.[1])
    expect(places.sort()).toEqual(['1', 'no other job'])
  })

  it('have their Event after the next poll if the API server rejected it', async () => {
    const [uid] = await ask('ns')
    const one = worker()
    stage().api.intercept = () => refusal(403, 'Forbidden')
    await one.reportOnce()
    expect(tellings()).toEqual([])
    stage().api.intercept = () => undefined
    await one.reportOnce()
    expect(tellings().map((told) => told.uid)).toEqual([uid])
  })

  it('have no second Event after another wake', async () => {
    const [uid = ''] = await ask('ns')
    const one = worker()
    await one.reportOnce()
    const wake = wakeRow(uid, { cluster: 'local', seq: 2, due: ago(0), cause: 'edit' })
    await upsertWakes(stage().database.db, [wake], ago(0))
    await Promise.all([one.reportOnce(), worker().reportOnce()])
    expect(tellings()).toHaveLength(1)
  })

  it('have another Event for another wait', async () => {
    await ask('ns')
    const one = worker()
    await one.reportOnce()
    const { db } = stage().database
    const claim = { cluster: 'local', owner: 'd', limit: 5, leaseMs: 1000, now: ago(0) }
    const [wake] = await claimWakes(db, claim)
    await postponeWakes(db, [{ wake: wake!, due: ago(30_000) }])
    await worker().reportOnce()
    expect(tellings()).toHaveLength(2)
  })
})

describe('a wake has no Event', () => {
  it.each<[string, Asked]>([
    ['has waited a moment only', { dueMs: 5000 }],
    ['asks for no job', { isOver: true }],
    ['only wakes an open run', { mayStart: false }],
  ])('if it %s', async (_, asked) => {
    await ask('ns', asked)
    await worker().reportOnce()
    expect(stage().api.requests).toEqual([])
  })

  it('if a dispatcher has claimed it', async () => {
    await ask('ns')
    const claim = { cluster: 'local', owner: 'd', limit: 5, leaseMs: 1000, now: ago(0) }
    expect(await claimWakes(stage().database.db, claim)).toHaveLength(1)
    await worker().reportOnce()
    expect(stage().api.requests).toEqual([])
  })
})

describe('a started run without a pass', () => {
  const subject = { group: 'landscaper.gardener.cloud', kind: 'DeployItem', uid: 'u', namespace: 'ns', name: 'item' }
  const run = (jobID: string) => ({ controller: 'deploy', workflowID: 'w', input: { subject, jobID, cause: 'test' } })

  it('has an Event unless its wait has one', async () => {
    const one = worker()
    await one.reportSlowStart(run('j1'), ago(12_000))
    await Promise.all([one.reportSlowStart(run('j1'), ago(12_000)), worker().reportSlowStart(run('j1'), ago(12_000))])
    expect(tellings()).toEqual([
      {
        uid: 'u',
        reason: 'WaitingForTurn',
        type: 'Normal',
        message: `waits for a worker since ${ago(12_000).toISOString()}: its run was started, and no worker has taken it yet; check that enough workers run`,
      },
    ])
    await one.reportSlowStart(run(''), ago(1))
    expect(tellings()).toHaveLength(1)
  })
})
