import { describe, expect, it } from 'vitest'

import { keyOf, parentErrorIn, pathToRootCause, reasonsOf } from '../../../../worker/cli/query/root-cause.ts'
import { changedLines, drawJobTree, phasesText } from '../../../../worker/cli/query/draw-job-tree.ts'

import { waitText } from '../../../../worker/cli/query/listed-object.ts'
import { stateAtEnd, endedWell, isOver } from '../../../../worker/cli/query/job-tree.ts'

import { deletionOrder } from '../../../../worker/cli/query/deletion-order.ts'

import { nextAfterTrace } from '../../../../worker/cli/query/next-step.ts'

import { formatTime, plainPaint } from '../../../../worker/cli/query/format.ts'
import { after, BEGIN, job, node, object, quiet } from './build-node.ts'

const end = (ms: number, phase: string) => ({ phase, outcome: phase, finishedAt: after(ms) })
const failed = node(object('DeployItem', 'db'), {
  job: job('db', { ...end(4000, 'Failed'), startedAt: after(2000), lastError: { message: 'no such image' } }),
})
const good = node(object('DeployItem', 'app'), { job: job('app', end(1000, 'Succeeded')) })
const tree = node(object('Installation', 'shop'), {
  job: job('shop', { ...end(4000, 'Failed'), cause: 'reconcile' }),
  children: [good, failed],
})
const CLOCK = formatTime(BEGIN, BEGIN)

describe('the tree of a job', () => {
  it('has a line for each object, with a bar on the time line of the whole job', () => {
    expect(
      drawJobTree(tree, { now: after(9000), paint: plainPaint })
        .split('\n')
        .map((line) => line.replace(/ {2,}/g, ' | ')),
    ).toEqual([
      `Installation ns/shop: Failed after 4.0s, started ${CLOCK} (reconcile)`,
      expect.stringMatching(/^Installation ns\/shop \| Failed \| 4.0s \| █{20} \| 1\/2/),
      expect.stringMatching(/^├─ DeployItem ns\/app \| Succeeded \| 1.0s \| █{5}·{15}/),
      expect.stringMatching(/^└─ DeployItem ns\/db \| Failed \| 2.0s \| ·{10}█{10} \| no such image$/),
      '',
    ])
  })

  it.each([
    ['the failed item', tree, {}, 'why deployitem/db -n ns'],
    ['the root in a trace of an earlier job', tree, { job: 'j0' }, 'why inst/shop -n ns --job j0'],
    ['the history of a job that succeeded', good, {}, 'history inst/shop -n ns'],
  ])('has as its next command %s', (...[, root, flags, command]) => {
    expect(nextAfterTrace(root, ['inst', 'shop'], { cluster: 'local', namespace: 'ns', ...flags })).toBe(
      `next: pawl ${command}`,
    )
  })

  it('shows the time before the first stored phase', () => {
    const phases = [
      { phase: 'Progressing', at: after(8400).toISOString() },
      { phase: 'Succeeded', at: after(9800).toISOString() },
    ]
    expect(phasesText(job('x', { ...end(9800, 'Succeeded'), phases }), BEGIN)).toBe('starting 8.4s, Progressing 1.4s')
  })

  it('is printed as changed lines without a terminal', () => {
    expect(changedLines(undefined, tree, BEGIN)).toHaveLength(3)
    expect(changedLines({ ...tree, children: [good] }, tree, BEGIN)).toEqual([
      `${CLOCK}  DeployItem ns/db  Failed  no such image`,
    ])
    expect(changedLines(tree, tree, BEGIN)).toEqual([])
  })

  it.each([
    ['Succeeded', 'Succeeded', true],
    ['Deleted', null, true],
    ['Finished', 'Succeeded', true],
    ['Finished', 'Failed', false],
    ['Failed', 'Failed', false],
    ['Superseded', 'Progressing', false],
    ['lost', 'Init', false],
  ])('with outcome %s in phase %s succeeded: %s', (outcome, phase, well) => {
    expect(endedWell(job('x', { outcome, phase }))).toBe(well)
  })
})

describe('an earlier job', () => {
  const present = object('DeployItem', 'db', { status: { phase: 'Failed', jobID: 'j2' } })

  it("is recognized by the job ID of the object's status", () => {
    expect(isOver(present, job('db', end(5, 'Succeeded')))).toBe(true)
    expect(isOver(present, job('db'))).toBe(false)
    expect(isOver(present, job('db', { ...end(5, 'Succeeded'), jobID: 'j2' }))).toBe(false)
    expect(isOver(present, job('db', { ...end(5, 'Succeeded'), jobID: '' }))).toBe(false)
  })

  it('shows its children as they were then, or as unknown', () => {
    const then = { at: after(3), type: 'MODIFIED', projection: { status: { phase: 'Succeeded', jobID: 'j1' } } }
    const lines = (child: typeof present) => drawJobTree(node(child), { now: BEGIN, paint: plainPaint })
    expect(lines(stateAtEnd(present, then))).toContain('DeployItem ns/db  Succeeded')
    expect(lines(stateAtEnd(present, { ...then, type: 'DELETED' }))).toContain('DeployItem ns/db  Deleted')
    expect(lines(stateAtEnd(present, undefined))).toContain('DeployItem ns/db  unknown')
    expect(stateAtEnd(object('DataObject', 'size', {}), undefined).projection).toEqual({})
  })
})

describe('the phase of another deployer', () => {
  it('is shown without control characters', () => {
    const phase = '\u001b[31mSucceeded\u0007'
    expect(
      drawJobTree(node(object('DeployItem', 'x', { status: { phase } })), { now: BEGIN, paint: plainPaint }),
    ).not.toMatch(/[\u001b\u0007]/)
  })
})

describe('the root cause', () => {
  it('is the failed object with its error', () => {
    const path = pathToRootCause(tree)
    expect(path.map((one) => one.object.name)).toEqual(['shop', 'db'])
    expect(reasonsOf(failed, quiet)).toEqual(['DeployItem ns/db is Failed: no such image.'])
  })

  it('has the time of an error that the user may have fixed since', () => {
    const lastError = { reason: 'ImportNotFound', message: 'DataObject "ns/size" does not exist; create it' }
    const billing = node(object('Installation', 'billing'), { job: job('billing', { ...end(0, 'Failed'), lastError }) })
    expect(reasonsOf(billing, quiet)).toEqual([
      `Installation ns/billing is Failed: ImportNotFound: DataObject "ns/size" does not exist; create it (error of the job that ended at ${CLOCK}).`,
    ])
  })

  it('has the error of the nearest ancestor if the journal has no error of the object', () => {
    const mute = node(object('DeployItem', 'db', { status: { phase: 'Failed' } }))
    const above = parentErrorIn([
      node(tree.object, { job: job('shop', { lastError: { message: 'db: no such image' } }) }),
      mute,
    ])
    expect(reasonsOf(mute, { ...quiet, parentError: above })).toEqual([
      'DeployItem ns/db is Failed.',
      'Installation ns/shop reports: db: no such image.',
    ])
    expect(parentErrorIn([mute])).toBeUndefined()
  })

  it('is the object that an open job waits for', () => {
    const awaited = [{ group: '', kind: 'Secret', namespace: 'ns', name: 'password', since: BEGIN }]
    const open = node(object('Installation', 'shop'), { job: job('shop'), awaited })
    const wake = { due: after(300_000), cause: 'retry' }
    expect(reasonsOf(open, { ...quiet, wake })).toEqual([
      `Installation ns/shop waits for Secret ns/password since ${CLOCK}; the journal has no such object; next attempt in 5m.`,
    ])
    expect(reasonsOf(open, { ...quiet, existing: new Set(awaited.map(keyOf)) })).toEqual([
      `Installation ns/shop waits for Secret ns/password since ${CLOCK}.`,
    ])
  })

  it('is the status of an object in level mode that has no open run, with local times unless the output is wide', () => {
    const cron = node({ ...object('DisruptionCron', 'slow'), group: 'chaos.datadoghq.com' })
    const status = { summary: 'next run at 2026-02-03T04:05:06Z', pods: [] }
    expect(reasonsOf(cron, { ...quiet, status })).toEqual([`DisruptionCron ns/slow: next run at ${CLOCK}.`])
    expect(reasonsOf(cron, { ...quiet, status, wide: true })).toEqual([
      'DisruptionCron ns/slow: next run at 2026-02-03T04:05:06Z.',
    ])
    expect(reasonsOf(cron, quiet)).toEqual([])
  })

  it('is the clean-up of an object in level mode in deletion, without its own finalizer', () => {
    const finalizers = ['finalizer.chaos.datadoghq.com']
    const projection = { metadata: { deletionTimestamp: BEGIN.toISOString(), finalizers } }
    const slow = { ...object('Disruption', 'slow', projection), group: 'chaos.datadoghq.com' }
    const deleting = node(slow, { job: job('slow', { jobID: '' }) })
    const due = after(11_000)
    const summary = `everything is undone; the object is released at ${due.toISOString().replace('.000', '')} (finalizerDeletionDelay)`
    const wake = { due, cause: 'timer' }
    expect(reasonsOf(deleting, { ...quiet, wake, status: { summary, pods: [] } })).toEqual([
      'Disruption ns/slow: everything is undone; the object is released in 11s (finalizerDeletionDelay).',
      `Disruption ns/slow is being deleted since ${CLOCK}.`,
    ])
  })

  it('is an object with finalizers', () => {
    const metadata = { deletionTimestamp: BEGIN.toISOString(), finalizers: ['a.example.com/keep'] }
    const held = node(object('DeployItem', 'x', { metadata }))
    expect(pathToRootCause(node(object('Installation', 'shop'), { job: job('shop'), children: [held] })).at(-1)).toBe(
      held,
    )
    expect(reasonsOf(held, quiet)).toEqual([
      `DeployItem ns/x is being deleted since ${CLOCK}; another controller must remove the finalizer a.example.com/keep.`,
      `DeployItem ns/x is being deleted since ${CLOCK}.`,
    ])
    const found = { object: held.object, job: undefined, awaited: [], unfinished: [] }
    expect(waitText(found)).toBe('another controller to remove a.example.com/keep')
  })
})

describe('a deletion', () => {
  const item = (name: string, after: string, status = {}) =>
    node(
      object('DeployItem', name, {
        metadata: {
          deletionTimestamp: BEGIN.toISOString(),
          finalizers: ['finalizer.landscaper.gardener.cloud'],
          annotations: { 'execution.landscaper.gardener.cloud/dependsOn': after },
        },
        status: { phase: 'Succeeded', jobID: 'j1', jobIDFinished: 'j1', ...status },
      }),
    )
  const deleting = { phase: 'Deleting', jobID: 'j2', jobIDFinished: 'j1' }

  it('removes items in the reverse order of their dependencies', () => {
    const children = [item('cache', ''), item('db', ''), item('app', 'cache,db', deleting)]
    expect(deletionOrder(node(object('Execution', 'x'), { children }))).toBe(
      '3 items in reverse order: app, then cache and db',
    )
    const metadata = { deletionTimestamp: BEGIN.toISOString(), finalizers: ['finalizer.landscaper.gardener.cloud'] }
    const shop = node(object('Installation', 'shop', { metadata }), {
      job: job('shop', { phase: 'Deleting' }),
      children,
    })
    expect(pathToRootCause(shop).map((one) => one.object.name)).toEqual(['shop', 'app'])
    expect(drawJobTree(shop, { now: BEGIN, paint: plainPaint })).toContain(
      '; deletes 3 items in reverse order: app, then cache and db\n',
    )
    expect(reasonsOf(children[2]!, quiet)).toEqual([`DeployItem ns/app is being deleted since ${CLOCK}.`])
  })
})
