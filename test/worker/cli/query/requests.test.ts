import { describe, expect, it } from 'vitest'

import type { JournalQueries } from '../../../../activities/journal/read/queries.ts'
import { changedLines, drawJobTree } from '../../../../worker/cli/query/draw-job-tree.ts'
import {
  editSentences,
  interruptAnswer,
  interruptEventOf,
  interruptOf,
  interruptSentence,
  isDeletionWaiting,
} from '../../../../worker/cli/query/edits-during-job.ts'
import { formatTime, plainPaint } from '../../../../worker/cli/query/format.ts'
import { listIn, unfinishedOf } from '../../../../worker/cli/query/get.ts'
import { jobCount } from '../../../../worker/cli/query/history.ts'
import { endedInEarlierJob, type JobNode, readJobTree } from '../../../../worker/cli/query/job-tree.ts'
import { nextQuery, nextStep } from '../../../../worker/cli/query/next-step.ts'
import { kindNamed, kindsNamed } from '../../../../worker/cli/query/object-name.ts'
import { awaitedSiblings, pathToRootCause, reasonsOf } from '../../../../worker/cli/query/root-cause.ts'
import { explainJob } from '../../../../worker/cli/query/why-text.ts'
import { after, BEGIN, event, job, node, nothing, object, quiet } from './build-node.ts'

const end = (ms: number, phase: string) => ({ phase, outcome: phase, finishedAt: after(ms) })
const CLOCK = formatTime(BEGIN, BEGIN)

describe('the error of an earlier job', () => {
  const item = object('DeployItem', 'db', { status: { phase: 'Failed', jobID: 'j1', jobIDFinished: 'j1' } })
  const shop = object('Installation', 'shop', { status: { phase: 'Failed', jobID: 'j2', jobIDFinished: 'j2' } })
  const second = job('shop', { ...end(9000, 'Failed'), jobID: 'j2', startedAt: after(8000) })

  it('is not the cause of the current job', () => {
    expect(endedInEarlierJob(item, shop, second)).toBe(true)
    expect(unfinishedOf([{ ...item, owner: shop.uid }], [shop]).size).toBe(0)
    const lastError = { message: 'template: no such key' }
    const tree = node(shop, { job: { ...second, lastError }, children: [node(item, { isFromEarlierJob: true })] })
    expect(pathToRootCause(tree)).toEqual([tree])
    expect(drawJobTree(tree, { now: after(9000), paint: plainPaint })).toMatch(/DeployItem ns\/db +- /)
  })

  it('is no progress of the running job, also if it succeeded', () => {
    const running = job('shop', { jobID: 'j2', startedAt: after(8000), phase: 'Progressing' })
    const good = object('DeployItem', 'db', { status: { phase: 'Succeeded', jobID: 'j1', jobIDFinished: 'j1' } })
    expect(endedInEarlierJob(good, shop, running)).toBe(true)
    expect(endedInEarlierJob(good, shop, second)).toBe(false)
    const at = (child: JobNode) => node(shop, { job: running, children: [child] })
    const waiting = at(node(good, { isFromEarlierJob: true }))
    expect(changedLines(undefined, waiting, BEGIN)).toEqual([`${CLOCK}  Installation ns/shop  Progressing`])
    const begun = at(node(object('DeployItem', 'db', { status: { phase: 'Init', jobID: 'j2' } })))
    expect(changedLines(waiting, begun, BEGIN)).toEqual([`${CLOCK}  DeployItem ns/db  Init`])
  })

  it('of an item that the job removed is no part of the progress, and the item is deleted', async () => {
    const gone = { ...item, deleted: true, owner: shop.uid }
    const fresh = object('DeployItem', 'queue', { status: { phase: 'Succeeded', jobID: 'j2', jobIDFinished: 'j2' } })
    const more = [fresh, { ...fresh, uid: 'uid-cache', name: 'cache' }].map((one) => ({ ...one, owner: shop.uid }))
    const journal = {
      childrenOf: ([owner]: readonly { readonly uid: string }[]) =>
        Promise.resolve(owner?.uid === shop.uid ? [gone, ...more] : []),
      newestJobs: () => Promise.resolve(new Map()),
      awaitedByAll: () => Promise.resolve(new Map()),
    } as Pick<JournalQueries, 'childrenOf' | 'newestJobs' | 'awaitedByAll'> as JournalQueries
    const renamed = { ...second, phase: 'Succeeded', outcome: 'Succeeded' }
    const text = drawJobTree(await readJobTree(journal, shop, renamed), { now: after(9000), paint: plainPaint })
    expect(text).toMatch(/DeployItem ns\/db +Deleted /)
    expect(text).toMatch(/ 2\/2\n/)
  })

  it('is the cause if the item belongs to the job, or was retried after it', () => {
    const retried = {
      status: { phase: 'Failed', jobID: 'j9', jobIDFinished: 'j9', jobIDGenerationTime: '2026-02-03T05:00:00Z' },
    }
    expect(endedInEarlierJob(object('DeployItem', 'db', retried), shop, second)).toBe(false)
    const same = { status: { phase: 'Failed', jobID: 'j2', jobIDFinished: 'j2' } }
    expect(endedInEarlierJob(object('DeployItem', 'db', same), shop, second)).toBe(false)
  })
})

describe('a request of a user during a job', () => {
  const next = (one: JobNode, more: object = {}) =>
    nextStep({ path: [one], status: undefined, words: ['inst/shop'], flags: { cluster: 'local' }, ...more })
  const running = (projection: object, more: object = {}) =>
    node(object('Installation', 'shop', { ...projection }), { job: job('shop', { phase: 'Progressing', ...more }) })

  it('that edited the spec needs an interrupt', () => {
    const annotations = { 'landscaper.gardener.cloud/operation': 'reconcile' }
    const edited = running({ metadata: { generation: 3, annotations }, status: { observedGeneration: 2 } })
    expect(editSentences(edited, BEGIN)).toEqual([
      'Installation ns/shop: the spec was edited during the job (generation 3, the job has generation 2); the job runs with the old spec.',
      'A reconcile is requested and starts after the job. pawl interrupt ends the job and replaces the request; request it again.',
    ])
    expect(next(edited)).toBe('next: pawl interrupt inst/shop')
    expect(editSentences(running({ metadata: { generation: 2 }, status: { observedGeneration: 2 } }), BEGIN)).toEqual(
      [],
    )
  })

  it('that deletes the object waits for the job', () => {
    const metadata = { deletionTimestamp: after(60_000).toISOString(), generation: 3 }
    const deleted = running({ metadata, status: { observedGeneration: 2 } })
    expect(editSentences(deleted, BEGIN)).toEqual([
      `Installation ns/shop: its deletion was requested at ${formatTime(after(60_000), BEGIN)} and waits for the running job; pawl interrupt ends the job.`,
    ])
    expect(next(deleted)).toBe('next: pawl interrupt inst/shop')
    expect(drawJobTree(deleted, { now: BEGIN, paint: plainPaint })).toContain('its deletion waits for this job')
    expect(isDeletionWaiting(running({ metadata }, { phase: 'Deleting' }))).toBe(false)
  })

  it('waits for no job in level mode', () => {
    const deletionTimestamp = after(60_000).toISOString()
    const finalizers = ['finalizer.chaos.datadoghq.com']
    const projection = { metadata: { deletionTimestamp, finalizers, generation: 5 }, status: { observedGeneration: 2 } }
    const slow = { ...object('Disruption', 'slow', projection), group: 'chaos.datadoghq.com' }
    const deleted = node(slow, { job: job('slow', { jobID: '' }) })
    expect([isDeletionWaiting(deleted), editSentences(deleted, BEGIN)]).toEqual([false, []])
    expect(next(deleted)).toBe('next: kubectl events --for disruption/slow -n ns')
  })

  it('that interrupts the job is shown with the user', () => {
    const metadata = { annotations: { 'landscaper.gardener.cloud/operation': 'interrupt' } }
    const ended = node(object('Installation', 'shop'), { job: job('shop', end(9000, 'Failed')) })
    const request = event(1, { at: after(5000), projection: { metadata } })
    expect(interruptEventOf(ended, [request])).toBe(request)
    const record = { what: 'interrupt', by: 'alice', at: after(5000).toISOString(), why: 'wrong image' }
    const time = () => '12:00'
    expect(interruptSentence(interruptOf(request, JSON.stringify(record)), time)).toBe(
      '12:00 alice (not verified) interrupted the job: wrong image.',
    )
    expect(interruptSentence(interruptOf(request, '{'), time)).toBe('12:00 a user interrupted the job.')
    expect(next(ended, { isInterrupted: true })).toBe('next: pawl reconcile inst/shop')
  })

  it('that interrupts the job is the answer, with the items that were running', () => {
    const item = (name: string, status: object, endMs: number) =>
      node({ ...object('DeployItem', name, { status: { phase: 'Failed', ...status } }), updatedAt: after(endMs) })
    const began = { jobIDGenerationTime: BEGIN.toISOString() }
    const children = [item('app', {}, 6000), item('cache', began, 3000), item('db', began, 6000)]
    const ended = node(object('Installation', 'shop'), { job: job('shop', end(9000, 'Failed')), children })
    expect(pathToRootCause(ended).at(-1)?.object.name).toBe('cache')
    const interrupt = { at: after(5000), by: 'alice', reason: 'wrong image' }
    expect(interruptAnswer(ended, interrupt, () => '12:00')).toBe(
      'Installation ns/shop is Failed: alice (not verified) interrupted its job at 12:00 while DeployItem ns/db was running: wrong image.',
    )
    const unknown = { ...interrupt, by: undefined, reason: undefined }
    expect(interruptAnswer({ ...ended, children: [] }, { ...unknown, at: after(9001) }, () => '12:00')).toBe(
      'Installation ns/shop is Failed: a user interrupted its job at 12:00.',
    )
  })

  it('that deletes a paused object waits for pawl resume', () => {
    const metadata = { deletionTimestamp: BEGIN.toISOString() }
    const paused = node(object('Installation', 'shop', { metadata, status: { paused: { by: 'alice' } } }))
    expect(next(paused)).toBe('next: pawl resume inst/shop')
  })
})

describe('an awaited sibling', () => {
  const awaited = [{ ...object('Installation', 'slow'), since: BEGIN }]
  const shop = (projection: object = {}) =>
    node(object('Installation', 'shop', { ...projection }), { job: job('shop'), awaited })

  it('is the next object to explain', () => {
    expect(awaitedSiblings(shop())).toEqual(awaited)
    const input = { path: [shop()], status: undefined, words: ['inst/shop'], flags: { cluster: 'local' } }
    expect(nextStep({ ...input, awaitedSibling: awaited[0] })).toBe('next: pawl why installation/slow')
  })

  it('is named in a deletion', () => {
    const deletion = shop({ metadata: { deletionTimestamp: BEGIN.toISOString() } })
    expect(reasonsOf(deletion, quiet)[0]).toBe(
      `Installation ns/shop is being deleted since ${CLOCK} and waits for the deletion of Installation ns/slow, which imports from it.`,
    )
  })
})

describe('the explanation', () => {
  it('of a deleted object states that', () => {
    const gone = node({ ...object('Installation', 'shop'), deleted: true }, { job: job('shop', end(1, 'Deleted')) })
    expect(explainJob({ ...nothing, path: [gone], reasons: [], next: '' }).answer).toBe(
      'Installation ns/shop is deleted.',
    )
  })

  it('of a template error has its excerpt', () => {
    const lastError = { message: 'template: line 2: no such key\ndeploy.yaml:\n> 2 | {{ .x }}' }
    const shop = node(object('Installation', 'shop'), { job: job('shop', { ...end(1, 'Failed'), lastError }) })
    const explanation = explainJob({ ...nothing, path: [shop], reasons: reasonsOf(shop, quiet), next: '' })
    expect(explanation.answer).toBe('Installation ns/shop is Failed: template: line 2: no such key.')
    expect(explanation.error.at(-1)).toBe('> 2 | {{ .x }}')
  })
})

describe('a list', () => {
  it('of several kinds has each kind once', () => {
    const kind = (name: string) => ({ group: '', kind: name, names: [name, `${name}s`], isFollowed: true })
    expect(kindsNamed('a,b,as', [kind('a'), kind('b'), kind('c')]).map((one) => one.kind)).toEqual(['a', 'b'])
    expect(() => kindsNamed('a,x', [kind('a')])).toThrow('kind "x" does not exist; expected a')
  })

  it('is not made for a named object', () => {
    expect(() => kindNamed('inst/shop', [])).toThrow(/use pawl why inst\/shop or pawl trace inst\/shop$/)
  })

  it('of a named kind contains cluster-scoped objects without -A', async () => {
    const zone = { group: 'example.com', kind: 'Zone' }
    const list = (...[of, place]: [{ readonly kind: string }, string | undefined]) =>
      Promise.resolve((of.kind === 'Zone' ? ['eu'] : []).filter(() => place === '' || place === undefined))
    expect(await listIn(list, zone, { place: 'team-a', isNamed: true })).toEqual(['eu'])
    expect(await listIn(list, zone, { place: undefined, isNamed: true })).toEqual(['eu'])
    expect(await listIn(list, zone, { place: 'team-a', isNamed: false })).toEqual([])
  })

  it('of versions or parts suggests commands with the same journal and namespace', () => {
    const flags = { cluster: 'local', namespace: 'ns', dataDir: '/tmp/d' }
    expect(nextQuery('diff', ['inst', 'shop'], flags)).toBe('pawl diff inst/shop -n ns --data-dir /tmp/d')
    expect(nextQuery('replay', ['inst/shop', 'j1'], { cluster: 'local' })).toBe('pawl replay inst/shop j1')
    expect(nextQuery('replay', ['inst', 'shop', 'j1'], { cluster: 'local' })).toBe('pawl replay inst/shop j1')
  })

  it('of versions suggests pawl diff only for two jobs', () => {
    const version = (jobID: string) => ({ event: { ...event(1), projection: { status: { jobID } } }, changes: [] })
    expect(jobCount([version('j1'), version('j1')])).toBe(1)
    expect(jobCount([version('j1'), version('j2')])).toBe(2)
  })
})
