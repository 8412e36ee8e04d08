// Rows of runs in level mode, and the wakes of their subscriptions; against a real PostgreSQL.

import { sql } from 'kysely'
import { describe, expect, inject, it } from 'vitest'

import { openDatabase } from '../../activities/journal/database.ts'
import { closeRun } from '../../activities/journal/write/close-runs.ts'
import type { BatchEvent } from '../../activities/journal/write/incoming-events.ts'
import { recordJobPhase, countPasses } from '../../activities/journal/write/jobs.ts'
import { replaceSubscriptions, wakeSubjects } from '../../activities/journal/write/subscriptions.ts'
import { pruneJournal } from '../../activities/journal/write/retention.ts'
import { upsertWakes } from '../../activities/journal/write/wakes.ts'
import { createRegistry } from '../../worker/server/registry.ts'
import { directLookups, resolveWake } from '../../worker/reconciler/resolve-wake.ts'
import { defineLevel, nop, path, textAt, type WatchedKind } from '../../workflows/kit/index.ts'
import { later, NOW, seen, TASK, taskKind, unrouted } from '../activities/journal/build-events.ts'
import { job, newWake } from '../activities/journal/build-job.ts'
import { endJob, findOpenJob, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
const subject = { controller: 'shop', cluster: 'c', uid: 'u1', namespace: 'ns', name: 'shop' }
const level = { ...unrouted, modes: { ...unrouted.modes, shop: 'level' } } as const
const run = job({ ...subject, workflow_id: 'shop/u1', job_id: '' })
const open = async (overrides: Parameters<typeof job>[0] = {}) => await openJob(test.db, { ...run, ...overrides })
const close = async (outcome: string, overrides: { readonly run_id?: string; readonly passes?: number } = {}) =>
  await closeRun(test.db, { ...run, run_id: 'r1', mode: 'level', ...overrides }, outcome, NOW)
const tell = async (source: 'watch' | 'relist', ...events: readonly BatchEvent[]) =>
  await test.journal({ source, events }, level)
const SELECTED: WatchedKind = { ...taskKind, indexKeys: { fields: ['spec.type'] } }

const subscribeTo = async (uid: string, ...wanted: readonly { readonly name: string; readonly traits?: string[] }[]) =>
  await replaceSubscriptions(
    test.db,
    { ...subject, uid },
    wanted.map(({ name, traits = [] }) => ({ ...TASK, namespace: 'ns', name, traits })),
    NOW,
  )
const subscribe = async (...names: string[]) => await subscribeTo('u1', ...names.map((name) => ({ name })))
const subscriptions = async () => (await test.rows('subscription', 'name')).map(({ name }) => name)
/** The delayed next pass of the run. */
const delay = async () => {
  const timer = newWake({ ...subject, seq: 0, due: later(60_000), writer: 'shop/u1', cause: 'due' })
  await upsertWakes(test.db, [timer], NOW)
}

describe('the row of a run in level mode', () => {
  const rows = async () => (await test.rows('job', 'run_id', 'outcome')).map((row) => [row.run_id, row.outcome])

  it('is closed by its run, also when the run ends before the dispatcher has written the row', async () => {
    await close('Converged')
    await open()
    expect(await rows()).toEqual([['r1', 'Converged']])
    await open({ run_id: 'r2' })
    expect(await findOpenJob(test.db, 'shop', 'u1')).toMatchObject({ run_id: 'r2' })
    await close('Converged', { run_id: 'r2' })
    expect(await rows()).toEqual([['r2', 'Converged']])
  })

  it('counts the first pass, also when the pass runs before the dispatcher has written the row', async () => {
    const passes = async () => (await test.rows('job', 'passes')).map((row) => row.passes)
    const settled = { workflowID: run.workflow_id, phase: undefined, lastError: undefined, attempt: 0, runID: 'r1' }
    const look = async (runID: string) => await countPasses(test.db, [{ workflowID: run.workflow_id, runID }], NOW)
    await look('r1')
    await open()
    await recordJobPhase(test.db, { ...settled, passes: 1 }, NOW)
    expect(await passes()).toEqual([1])
    await look('r1')
    await recordJobPhase(test.db, { ...settled, passes: 2 }, NOW)
    expect(await passes()).toEqual([2])
    await close('Converged', { passes: 2 })
    expect(await passes()).toEqual([2])
    // The next run of the object ends before the dispatcher has opened its row.
    await look('r2')
    await close('Converged', { run_id: 'r2', passes: 1 })
    await open({ run_id: 'r2' })
    expect(await passes()).toEqual([1])
  })

  it('stays open when an earlier run ends late, and keeps its wake and its subscriptions', async () => {
    await open({ run_id: 'r2' })
    await subscribe('a')
    await delay()
    for (const outcome of ['Converged', 'Deleted']) {
      await close(outcome)
      expect([await rows(), await subscriptions()]).toEqual([[['r2', null]], ['a']])
      expect(await test.wakes()).toHaveLength(1)
    }
  })

  it('is closed by each end of its run: error, attempts and timer go, subscriptions only when the object is deleted', async () => {
    const faulty = { workflowID: run.workflow_id, runID: 'r1', phase: undefined, attempt: 2 }
    await open()
    await subscribe('a')
    for (const outcome of ['Converged', 'Deleted']) {
      await recordJobPhase(test.db, { ...faulty, lastError: { reason: 'Away' } }, NOW)
      await delay()
      await close(outcome)
      const closed = { outcome, attempt: 0, last_error: null }
      expect(await test.rows('job', 'outcome', 'attempt', 'last_error')).toEqual([closed])
      expect(await test.wakes()).toEqual([])
      expect(await subscriptions()).toEqual(outcome === 'Converged' ? ['a'] : [])
    }
  })

  it('is not closed by the deletion of its object, because the run handles the deletion', async () => {
    await open({ controller: 'task', workflow_id: 'task/u1' })
    await tell('watch', seen('ADDED', { version: 5 }))
    await tell('watch', seen('DELETED', { version: 6 }))
    expect(await findOpenJob(test.db, 'task', 'u1')).toMatchObject({ workflow_id: 'task/u1' })
  })

  it('does not delay retention, and retention removes neither an open row nor its subscriptions', async () => {
    await open({ started_at: later(-100 * 86_400_000) })
    await subscribe('a')
    await test.db
      .updateTable('subscription')
      .set({ created_at: later(-100 * 86_400_000) })
      .execute()
    expect((await pruneJournal(test.db, 86_400_000, NOW))?.before).toEqual(later(-86_400_000))
    expect(await subscriptions()).toEqual(['a'])
    expect(await findOpenJob(test.db, 'shop', 'u1')).toBeDefined()
  })

  it('is reopened by the settle of a run that was woken while it closed the row; the row of a job is not', async () => {
    await open()
    await close('Converged')
    const pass = { workflowID: run.workflow_id, runID: 'r1', phase: undefined, lastError: undefined, attempt: 1 }
    expect(await recordJobPhase(test.db, pass, NOW)).toBe('open')
    await open({ workflow_id: 'shop/u1/j1', job_id: 'j1' })
    await endJob(test.db, 'shop/u1/j1', NOW)
    expect(await recordJobPhase(test.db, { ...pass, workflowID: 'shop/u1/j1' }, NOW)).toBe('over')
  })
})

describe('a subscription of a controller in level mode', () => {
  /** The uids that the events wake. */
  const woken = async (source: 'watch' | 'relist', ...events: readonly BatchEvent[]) => {
    await test.db.deleteFrom('wake').execute()
    await tell(source, ...events)
    return (await test.wakes()).map(({ uid }) => uid)
  }
  const WEB = { name: '*', traits: ['app=web'] }

  it('starts a run when the named object, or any object of the kind in the namespace, changes', async () => {
    expect(await subscribe('task-a', '*')).toHaveLength(2)
    expect(await subscribe('*')).toEqual([])
    await tell('watch', seen('ADDED', { uid: 'b', version: 5 }))
    await tell('watch', seen('ADDED', { uid: 'x', namespace: 'other', version: 6 }))
    expect(await test.wakes()).toMatchObject([
      { controller: 'shop', uid: 'u1', may_start: true, cause: 'Task task-b changed' },
    ])
  })

  it('starts a run when the object has or had the selected labels, or when its previous labels are unknown', async () => {
    const both = { name: '*', traits: ['app=web', 'tier'] }
    const subscribed = await subscribeTo('u1', both, both, { name: '*' })
    expect(subscribed.map(({ traits }) => traits)).toEqual([[], both.traits])
    expect(await subscribeTo('u1', both)).toEqual([])
    const wakes = async (version: number, labels: Readonly<Record<string, string>> | undefined, kind = SELECTED) => {
      const event = seen('MODIFIED', { version, generation: version }, kind)
      const object = { ...event.object, metadata: { ...event.object.metadata, ...(labels && { labels }) } }
      return (await woken('watch', { ...event, object })).length
    }
    expect(await wakes(5, { app: 'web' })).toBe(1)
    expect(await wakes(6, { app: 'web' })).toBe(0)
    expect(await wakes(7, { app: 'web', tier: 'front' })).toBe(1)
    expect(await wakes(8, { app: 'web', tier: 'back' })).toBe(1)
    expect(await wakes(9, undefined)).toBe(1)
    expect(await wakes(10, { app: 'api', tier: 'back' })).toBe(0)
    // A previous release does not index labels. So the previous labels are unknown to the next event, which wakes the
    // subject.
    expect(await wakes(11, { app: 'api' }, taskKind)).toBe(1)
    expect(await wakes(12, { app: 'api' })).toBe(1)
    expect(await wakes(13, { app: 'api' })).toBe(0)
  })

  it('starts a run for every change that a list shows, because events before the list may be missing', async () => {
    await subscribeTo('u1', WEB)
    const one = (version: number, uid = 'u1') => seen('MODIFIED', { uid, version, generation: version }, SELECTED)
    const missing = { uid: 'u2', namespace: 'ns', name: 'task-u2' }
    expect(await woken('watch', seen('ADDED', { version: 5 }, SELECTED))).toEqual([])
    expect(await woken('watch', one(6))).toEqual([])
    expect(await woken('relist', one(7))).toEqual(['u1'])
    expect(await woken('relist', one(7))).toEqual([])
    expect(await woken('relist', one(8, 'u2'))).toEqual(['u1'])
    expect(await woken('relist', { watched: SELECTED, missing, listVersion: 9 })).toEqual(['u1'])
    expect(await woken('watch', seen('DELETED', { version: 10 }, SELECTED))).toEqual([])
  })

  it('starts a run for the selected values of an indexed field, and for every change when the field is not indexed', async () => {
    const [web, api, other] = ['.spec.type=web', '.spec.type=api', '.spec.other=x']
    // One subject per subscription, so that the test can tell them apart.
    for (const trait of [web, api, other, 'app=web']) await subscribeTo(trait, { name: '*', traits: [trait] })
    const wakes = async (version: number, type: unknown) =>
      new Set(await woken('watch', seen('MODIFIED', { version, generation: version, spec: { type } }, SELECTED)))
    expect(await wakes(5, 'web')).toEqual(new Set([web, api, other, 'app=web']))
    expect(await wakes(6, 'web')).toEqual(new Set([web, other]))
    expect(await wakes(7, 'api')).toEqual(new Set([web, api, other]))
    expect(await wakes(8, 7)).toEqual(new Set([web, api, other]))
  })

  it('does not wake the open run that wrote the object', async () => {
    await subscribe('*')
    await open()
    const events = [seen('ADDED', { uid: 'b', version: 5 })]
    await test.journal({ source: 'write', writer: 'shop/u1', events }, level)
    expect(await test.wakes()).toEqual([])
  })

  it('is removed when the subscribing object is deleted while no run is open', async () => {
    await tell('watch', seen('ADDED', { version: 5 }))
    await subscribe('other')
    await tell('watch', seen('DELETED', { version: 6 }))
    expect(await subscriptions()).toEqual([])
  })
})

describe('a wake of a controller in level mode', () => {
  const target = { apiVersion: 'test.pawl.dev/v1', kind: 'Task', plural: 'tasks' }
  const registry = createRegistry([defineLevel({ name: 'shop', target, queries: {}, plan: nop })])
  const all = { cluster: 'c', controller: 'shop', ...TASK, cause: 'a worker started' }
  const resolve = async () => {
    const [wake] = await test.wakes()
    return await resolveWake(wake!, directLookups(test.db, registry))
  }

  it('starts the run of its object, wakes the open run, or does nothing when the object is gone', async () => {
    await tell('watch', seen('ADDED', { version: 5 }))
    expect(await wakeSubjects(test.db, all, NOW)).toBe(1)
    expect(await resolve()).toMatchObject({
      to: 'start',
      run: { controller: 'shop', workflowID: 'shop/ns/task-u1/u1', input: { jobID: '', cause: 'a worker started' } },
    })
    await open()
    expect(await resolve()).toMatchObject({ to: 'open', job: { workflow_id: 'shop/u1' } })
    await close('Converged')
    await tell('watch', seen('DELETED', { version: 6 }))
    expect(await resolve()).toEqual({ to: 'nothing', reason: 'subject is gone', unrecorded: 'shop/ns/task-u1/u1' })
    expect(await wakeSubjects(test.db, all, NOW)).toBe(0)
  })

  it('is created only for objects that the predicate of the controller accepts', async () => {
    await tell('watch', ...['a', 'b'].map((uid) => seen('ADDED', { uid, version: 5 })))
    const predicate = (object: object) => textAt(object, path('metadata.uid')) === 'b'
    expect(await wakeSubjects(test.db, { ...all, predicate }, NOW)).toBe(1)
    expect((await test.wakes()).map(({ uid }) => uid)).toEqual(['b'])
  })

  it('is created for many objects in several transactions, so that the first wakes do not wait for the last', async () => {
    const others = Array.from({ length: 2500 }, (_, index) => seen('ADDED', { uid: `u${10_000 + index}`, version: 5 }))
    await tell('watch', ...others)
    expect(await wakeSubjects(test.db, all, NOW)).toBe(2500)
    await test.db.deleteFrom('wake').where('uid', '!=', 'u12499').execute()
    const count = async () => (await test.wakes()).length
    const other = openDatabase(test.url, undefined, { idleTransactionMs: 0 })
    const waking = await other.transaction().execute(async (trx) => {
      await sql`select from wake for update`.execute(trx)
      const again = wakeSubjects(test.db, all, NOW)
      await expect.poll(count).toBe(2001)
      return { again }
    })
    expect(await waking.again).toBe(2500)
    expect(await count()).toBe(2500)
    await other.destroy()
  })
})
