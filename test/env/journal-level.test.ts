// Rows of runs in level mode, and the wakes of their subscriptions; against a real PostgreSQL.

import { sql } from 'kysely'
import { describe, expect, inject, it } from 'vitest'

import { openDatabase } from '../../activities/journal/database.ts'
import { closeRun } from '../../activities/journal/write/close-runs.ts'
import { journalEvents } from '../../activities/journal/write/events.ts'
import type { BatchEvent } from '../../activities/journal/write/incoming-events.ts'
import { recordJobPhase, countPasses } from '../../activities/journal/write/jobs.ts'
import { replaceSubscriptions, wakeSubjects } from '../../activities/journal/write/subscriptions.ts'
import { pruneJournal } from '../../activities/journal/write/retention.ts'
import { upsertWakes } from '../../activities/journal/write/wakes.ts'
import { createRegistry } from '../../worker/server/registry.ts'
import { directLookups, resolveWake } from '../../worker/reconciler/resolve-wake.ts'
import { defineLevel, nop, path, textAt, type WatchedKind } from '../../workflows/kit/index.ts'
import { deps, NOW, seen, TASK, taskKind } from '../activities/journal/build-events.ts'
import { endJob, findOpenJob, openJob } from '../activities/journal/one-row.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
const subject = { controller: 'shop', cluster: 'c', uid: 'u1', namespace: 'ns', name: 'shop' }
const modes = { ...deps.modes, shop: 'level' } as const
const ignored = { ...deps, modes, route: () => ({ ignored: 'not routed' }) }
const run = {
  workflow_id: 'shop/u1',
  run_id: 'r1',
  controller: 'shop',
  cluster: 'c',
  uid: 'u1',
  job_id: '',
  namespace: 'ns',
  name: 'shop',
  cause: 'test',
  started_at: NOW,
}
const ended = { ...run, mode: 'level' } as const
const watch = { cluster: 'c', source: 'watch' } as const
const SELECTED: WatchedKind = { ...taskKind, indexKeys: { fields: ['spec.type'] } }
const job = async () => await test.db.selectFrom('job').select(['run_id', 'outcome']).execute()
const subscribe = async (...names: string[]) =>
  await replaceSubscriptions(
    test.db,
    subject,
    names.map((name) => ({ ...TASK, namespace: 'ns', name, traits: [] })),
    NOW,
  )

describe('the row of a run in level mode', () => {
  it('is closed by its run, also when the run ends before the dispatcher has written the row', async () => {
    await closeRun(test.db, ended, 'Converged', NOW)
    await openJob(test.db, run)
    expect(await job()).toEqual([{ run_id: 'r1', outcome: 'Converged' }])
    await openJob(test.db, { ...run, run_id: 'r2' })
    expect(await findOpenJob(test.db, 'shop', 'u1')).toMatchObject({ run_id: 'r2' })
    await closeRun(test.db, { ...ended, run_id: 'r2' }, 'Converged', NOW)
    expect(await job()).toEqual([{ run_id: 'r2', outcome: 'Converged' }])
  })

  it('counts the first pass, also when the pass runs before the dispatcher has written the row', async () => {
    const passes = async () => (await test.db.selectFrom('job').select('passes').execute()).map((row) => row.passes)
    const settled = { workflowID: run.workflow_id, phase: undefined, lastError: undefined, attempt: 0 }
    const look = async (runID: string) => await countPasses(test.db, [{ workflowID: run.workflow_id, runID }], NOW)
    await look('r1')
    await openJob(test.db, run)
    await recordJobPhase(test.db, { ...settled, runID: 'r1', passes: 1 }, NOW)
    expect(await passes()).toEqual([1])
    await look('r1')
    await recordJobPhase(test.db, { ...settled, runID: 'r1', passes: 2 }, NOW)
    expect(await passes()).toEqual([2])
    await closeRun(test.db, { ...ended, passes: 2 }, 'Converged', NOW)
    expect(await passes()).toEqual([2])
    // The next run of the object ends before the dispatcher has opened its row.
    await look('r2')
    await closeRun(test.db, { ...ended, run_id: 'r2', passes: 1 }, 'Converged', NOW)
    await openJob(test.db, { ...run, run_id: 'r2' })
    expect(await passes()).toEqual([1])
  })

  it('stays open when an earlier run ends late, and keeps its wake and its subscriptions', async () => {
    const due = new Date(NOW.getTime() + 60_000)
    const timer = { ...subject, job_id: '', seq: 0, due, foreign_event: true, may_start: true, cause: 'due' }
    await openJob(test.db, { ...run, run_id: 'r2' })
    await subscribe('a')
    await upsertWakes(test.db, [{ ...timer, writer: 'shop/u1' }], NOW)
    for (const outcome of ['Converged', 'Deleted']) {
      await closeRun(test.db, ended, outcome, NOW)
      expect(await job()).toEqual([{ run_id: 'r2', outcome: null }])
      expect(await test.wakes()).toHaveLength(1)
      expect(await test.db.selectFrom('subscription').select('name').execute()).toEqual([{ name: 'a' }])
    }
  })

  it('is closed by each end of its run, which also clears the error and the attempts', async () => {
    const faulty = { workflowID: run.workflow_id, runID: run.run_id, phase: undefined, attempt: 2 }
    const said = test.db.selectFrom('job').select(['outcome', 'attempt', 'last_error'])
    await openJob(test.db, run)
    for (const outcome of ['Converged', 'Deleted']) {
      await recordJobPhase(test.db, { ...faulty, lastError: { reason: 'Away' } }, NOW)
      await closeRun(test.db, ended, outcome, NOW)
      expect(await said.execute()).toEqual([{ outcome, attempt: 0, last_error: null }])
      expect(await test.wakes()).toEqual([])
    }
  })

  it('is not closed by the deletion of its object, because the run handles the deletion', async () => {
    await openJob(test.db, { ...run, controller: 'task', workflow_id: 'task/u1' })
    await journalEvents(test.db, { ...watch, events: [seen('ADDED', { version: 5 })] }, ignored)
    await journalEvents(test.db, { ...watch, events: [seen('DELETED', { version: 6 })] }, ignored)
    expect(await findOpenJob(test.db, 'task', 'u1')).toMatchObject({ workflow_id: 'task/u1' })
  })

  it('removes its timer when it closes, and its subscriptions only when its object is deleted', async () => {
    const due = new Date(NOW.getTime() + 60_000)
    const timer = { ...subject, job_id: '', seq: 0, due, foreign_event: true, may_start: true, cause: 'due' }
    await subscribe('a')
    for (const outcome of ['Converged', 'Deleted']) {
      await upsertWakes(test.db, [{ ...timer, writer: 'shop/u1' }], NOW)
      await closeRun(test.db, ended, outcome, NOW)
      expect(await test.wakes()).toEqual([])
      const left = await test.db.selectFrom('subscription').select('name').execute()
      expect(left).toEqual(outcome === 'Converged' ? [{ name: 'a' }] : [])
    }
  })

  it('does not delay retention, and retention removes neither an open row nor its subscriptions', async () => {
    const old = new Date(NOW.getTime() - 100 * 86_400_000)
    await openJob(test.db, { ...run, started_at: old })
    await replaceSubscriptions(test.db, subject, [{ ...TASK, namespace: 'ns', name: 'a', traits: [] }], old)
    const pruned = await pruneJournal(test.db, 86_400_000, NOW)
    expect(pruned?.before).toEqual(new Date(NOW.getTime() - 86_400_000))
    expect(await test.db.selectFrom('subscription').select('name').execute()).toEqual([{ name: 'a' }])
    expect(await findOpenJob(test.db, 'shop', 'u1')).toBeDefined()
  })
})

describe('a run in level mode that was woken while it closed its row', () => {
  it('continues, and the journal accepts its settle as the settle of an open run', async () => {
    await openJob(test.db, run)
    await closeRun(test.db, ended, 'Converged', NOW)
    const pass = { workflowID: run.workflow_id, runID: run.run_id, phase: undefined, lastError: undefined, attempt: 1 }
    expect(await recordJobPhase(test.db, pass, NOW)).toBe('open')
    await openJob(test.db, { ...run, workflow_id: 'shop/u1/j1', job_id: 'j1' })
    await endJob(test.db, 'shop/u1/j1', NOW)
    expect(await recordJobPhase(test.db, { ...pass, workflowID: 'shop/u1/j1' }, NOW)).toBe('over')
  })
})

describe('a subscription of a controller in level mode', () => {
  it('starts a run when the named object, or any object of the kind in the namespace, changes', async () => {
    expect(await subscribe('task-a', '*')).toHaveLength(2)
    expect(await subscribe('*')).toEqual([])
    const events = [
      seen('ADDED', { uid: 'b', version: 5 }),
      seen('ADDED', { uid: 'x', namespace: 'other', version: 6 }),
    ]
    await journalEvents(test.db, { ...watch, events }, ignored)
    expect(await test.wakes()).toMatchObject([
      { controller: 'shop', uid: 'u1', may_start: true, cause: 'Task task-b changed' },
    ])
  })

  it('starts a run when the object has or had the selected labels, or when its previous labels are unknown', async () => {
    const subscribed = await replaceSubscriptions(
      test.db,
      subject,
      [['app=web', 'tier'], ['app=web', 'tier'], []].map((traits) => ({ ...TASK, namespace: 'ns', name: '*', traits })),
      NOW,
    )
    expect(subscribed.map(({ traits }) => traits)).toEqual([[], ['app=web', 'tier']])
    const demanding = subscribed.filter(({ traits }) => traits.length > 0)
    expect(await replaceSubscriptions(test.db, subject, demanding, NOW)).toEqual([])
    const woken = async (version: number, labels: Readonly<Record<string, string>> | undefined, kind = SELECTED) => {
      await test.db.deleteFrom('wake').execute()
      const event = seen('MODIFIED', { version, generation: version }, kind)
      const object = { ...event.object, metadata: { ...event.object.metadata, ...(labels && { labels }) } }
      await journalEvents(test.db, { ...watch, events: [{ ...event, object }] }, ignored)
      return (await test.wakes()).length
    }
    expect(await woken(5, { app: 'web' })).toBe(1)
    expect(await woken(6, { app: 'web' })).toBe(0)
    expect(await woken(7, { app: 'web', tier: 'front' })).toBe(1)
    expect(await woken(8, { app: 'web', tier: 'back' })).toBe(1)
    expect(await woken(9, undefined)).toBe(1)
    expect(await woken(10, { app: 'api', tier: 'back' })).toBe(0)
    // A previous release does not index labels. So the previous labels are unknown to the next event, which wakes the
    // subject.
    expect(await woken(11, { app: 'api' }, taskKind)).toBe(1)
    expect(await woken(12, { app: 'api' })).toBe(1)
    expect(await woken(13, { app: 'api' })).toBe(0)
  })

  it('starts a run for every change that a list shows, because events before the list may be missing', async () => {
    await replaceSubscriptions(test.db, subject, [{ ...TASK, namespace: 'ns', name: '*', traits: ['app=web'] }], NOW)
    const told = async (source: 'watch' | 'relist', events: readonly BatchEvent[]) => {
      await test.db.deleteFrom('wake').execute()
      await journalEvents(test.db, { cluster: 'c', source, events }, ignored)
      return (await test.wakes()).length
    }
    const one = (version: number, uid = 'u1') => seen('MODIFIED', { uid, version, generation: version }, SELECTED)
    expect(await told('watch', [seen('ADDED', { version: 5 }, SELECTED)])).toBe(0)
    expect(await told('watch', [one(6)])).toBe(0)
    expect(await told('relist', [one(7)])).toBe(1)
    expect(await told('relist', [one(7)])).toBe(0)
    expect(await told('relist', [one(8, 'u2')])).toBe(1)
    const missing = { uid: 'u2', namespace: 'ns', name: 'task-u2' }
    expect(await told('relist', [{ watched: SELECTED, missing, listVersion: 9 }])).toBe(1)
    expect(await told('watch', [seen('DELETED', { version: 10 }, SELECTED)])).toBe(0)
  })

  it('starts a run for the selected values of an indexed field, and for every change when the field is not indexed', async () => {
    const demands = ['.spec.type=web', '.spec.type=api', '.spec.other=x', 'app=web']
    // One subject per subscription, so that the test can tell them apart.
    for (const [at, trait] of demands.entries()) {
      const whose = { ...subject, uid: `d${at}` }
      await replaceSubscriptions(test.db, whose, [{ ...TASK, namespace: 'ns', name: '*', traits: [trait] }], NOW)
    }
    const woken = async (version: number, type: unknown) => {
      await test.db.deleteFrom('wake').execute()
      const events = [seen('MODIFIED', { version, generation: version, spec: { type } }, SELECTED)]
      await journalEvents(test.db, { ...watch, events }, ignored)
      return (await test.wakes()).map(({ uid }) => demands[Number(uid.slice(1))])
    }
    expect(await woken(5, 'web')).toEqual(demands)
    expect(await woken(6, 'web')).toEqual(['.spec.type=web', '.spec.other=x'])
    expect(await woken(7, 'api')).toEqual(['.spec.type=web', '.spec.type=api', '.spec.other=x'])
    expect(await woken(8, 7)).toEqual(['.spec.type=web', '.spec.type=api', '.spec.other=x'])
  })

  it('does not wake the open run that wrote the object', async () => {
    await subscribe('*')
    await openJob(test.db, run)
    const write = { cluster: 'c', source: 'write', writer: 'shop/u1' } as const
    await journalEvents(test.db, { ...write, events: [seen('ADDED', { uid: 'b', version: 5 })] }, ignored)
    expect(await test.wakes()).toEqual([])
  })

  it('is removed when the subscribing object is deleted while no run is open', async () => {
    await journalEvents(test.db, { ...watch, events: [seen('ADDED', { version: 5 })] }, ignored)
    await subscribe('other')
    await journalEvents(test.db, { ...watch, events: [seen('DELETED', { version: 6 })] }, ignored)
    expect(await test.db.selectFrom('subscription').selectAll().execute()).toEqual([])
  })
})

describe('a wake of a controller in level mode', () => {
  const target = { apiVersion: 'test.pawl.dev/v1', kind: 'Task', plural: 'tasks' }
  const registry = createRegistry([defineLevel({ name: 'shop', target, queries: {}, plan: nop })])
  const resolve = async () => {
    const [wake] = await test.wakes()
    return await resolveWake(wake!, directLookups(test.db, registry))
  }

  it('starts the run of its object, wakes the open run, or does nothing when the object is gone', async () => {
    await journalEvents(test.db, { ...watch, events: [seen('ADDED', { version: 5 })] }, ignored)
    expect(
      await wakeSubjects(test.db, { cluster: 'c', controller: 'shop', ...TASK, cause: 'a worker started' }, NOW),
    ).toBe(1)
    expect(await resolve()).toMatchObject({
      to: 'start',
      run: { controller: 'shop', workflowID: 'shop/ns/task-u1/u1', input: { jobID: '', cause: 'a worker started' } },
    })
    await openJob(test.db, run)
    expect(await resolve()).toMatchObject({ to: 'open', job: { workflow_id: 'shop/u1' } })
    await closeRun(test.db, ended, 'Converged', NOW)
    await journalEvents(test.db, { ...watch, events: [seen('DELETED', { version: 6 })] }, ignored)
    expect(await resolve()).toEqual({ to: 'nothing', reason: 'subject is gone', unrecorded: 'shop/ns/task-u1/u1' })
    expect(
      await wakeSubjects(test.db, { cluster: 'c', controller: 'shop', ...TASK, cause: 'a worker started' }, NOW),
    ).toBe(0)
  })

  it('is created only for objects that the predicate of the controller accepts', async () => {
    const [a, b] = ['a', 'b'].map((uid) => seen('ADDED', { uid, version: 5 }))
    await journalEvents(test.db, { ...watch, events: [a!, b!] }, ignored)
    const predicate = (object: object) => textAt(object, path('metadata.uid')) === 'b'
    const all = { cluster: 'c', controller: 'shop', ...TASK, cause: 'a worker started', predicate }
    expect(await wakeSubjects(test.db, all, NOW)).toBe(1)
    expect((await test.wakes()).map(({ uid }) => uid)).toEqual(['b'])
  })

  it('is created for many objects in several transactions, so that the first wakes do not wait for the last', async () => {
    const others = Array.from({ length: 2500 }, (_, index) => seen('ADDED', { uid: `u${10_000 + index}`, version: 5 }))
    await journalEvents(test.db, { ...watch, events: others }, ignored)
    const all = { cluster: 'c', controller: 'shop', ...TASK, cause: 'a worker started' }
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
