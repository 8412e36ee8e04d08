import { describe, expect, it } from 'vitest'

import type { JobRecord } from '../../../../activities/journal/read/object-queries.ts'
import { drawJobTree } from '../../../../worker/cli/query/draw-job-tree.ts'
import { plainPaint } from '../../../../worker/cli/query/format.ts'
import { getTable } from '../../../../worker/cli/query/get.ts'
import { phaseOf } from '../../../../worker/cli/query/job-tree.ts'
import { causeIn, phaseOfRow, waitText, withAwaitedRows } from '../../../../worker/cli/query/listed-object.ts'
import { levelRunText, writesOfRun } from '../../../../worker/cli/query/level-run.ts'
import { nextReplay, nextStep } from '../../../../worker/cli/query/next-step.ts'
import { reasonsOf } from '../../../../worker/cli/query/root-cause.ts'
import { explainJob } from '../../../../worker/cli/query/why-text.ts'
import { BEGIN, job, node, nothing, object, quiet } from './build-node.ts'

const awaited = [{ group: '', kind: 'Service', namespace: 'ns', name: 'web', since: BEGIN }]
const BUG =
  'controller "website": step "apply": TypeError: no such field (site/apply.ts:14:49); fix the code and restart the worker ("pawl why website/web -n ns" shows whether passes continue)'

/** An object of a user's controller, which the registry of a command does not have. */
function website(conditions: readonly object[], more: Partial<JobRecord> = {}) {
  const projection = conditions.length === 0 ? {} : { status: { conditions: conditions.map((one) => ({ ...one })) } }
  const of = { ...object('Website', 'web', projection), group: 'example.com' }
  return node(of, { job: job('web', { jobID: '', phase: null, cause: 'first seen', ...more }), awaited })
}
const row = ({ object: of, job: run }: ReturnType<typeof website>) => ({
  object: of,
  job: run,
  awaited,
  unfinished: [],
})
const ready = website([{ type: 'Ready', status: 'True', reason: 'Served' }])
const notReady = website([{ type: 'Ready', status: 'False', reason: 'NoImage', message: 'image "x" is missing' }])
const broken = website([], { lastError: { reason: 'Bug', message: BUG } })

describe("an object of a user's controller in level mode", () => {
  it('watches objects and does not wait for them', () => {
    expect(reasonsOf(ready, quiet)).toEqual([])
    expect(reasonsOf(ready, { ...quiet, wide: true })).toEqual([
      expect.stringMatching(/^Website ns\/web watches Service ns\/web since /),
    ])
    expect(drawJobTree(ready, { now: BEGIN, paint: plainPaint })).not.toContain('waits for')
  })

  it.each([
    ['True', ready, 'Ready', ''],
    ['False', notReady, 'NotReady', 'NoImage: image "x" is missing'],
    ['absent', website([]), '-', ''],
    ['absent, with a fault', broken, 'Bug', `Bug: ${BUG}`],
  ])('with the condition Ready %s has its phase and its reason in lists', (...[, of, phase, waits]) => {
    expect(phaseOf(of)).toBe(phase)
    expect(phaseOfRow(row(of)) ?? '-').toBe(phase)
    expect(waitText(row(of))).toBe(waits)
  })

  it('has no column PHASE if the journal has no condition of any object, otherwise an empty cell', () => {
    const form = { now: BEGIN, paint: plainPaint, wide: false, withNamespace: false, withKind: false, lineWidth: 200 }
    expect(getTable([row(website([]))], form)).toBe('NAME   DURATION   WAITING-FOR\nweb    0ms\n')
    expect(getTable([row(website([])), row(ready)], form)).toBe(
      'NAME   PHASE   DURATION   WAITING-FOR\nweb            0ms\nweb    Ready   0ms\n',
    )
  })

  it('without a fault is explained by its last pass', () => {
    const answer = (one: typeof ready) => explainJob({ ...nothing, path: [one], reasons: [], next: '' }).answer
    expect(answer(ready)).toBe('Website ns/web is Ready: the last pass had no fault.')
    expect(answer(website([]))).toBe(
      'Website ns/web: the last pass had no fault; the journal does not have its condition "Ready" (add status.conditions to the projection of the kind).',
    )
  })

  it('that is not ready is explained by the condition, during its run and after it', () => {
    const sentence = 'Website ns/web is NotReady: NoImage: image "x" is missing.'
    expect(reasonsOf(notReady, quiet)).toEqual([sentence])
    const ended = { ...notReady, job: { ...job('web', { jobID: '' }), outcome: 'Finished', finishedAt: BEGIN } }
    expect(reasonsOf(ended, quiet)).toEqual([sentence])
  })

  it('whose controller throws is explained by the error, its place, and the next attempt', () => {
    expect(reasonsOf(broken, { ...quiet, attempt: 3, wake: { due: BEGIN, cause: 'retry' } })).toEqual([
      'Website ns/web: the code of its controller threw an error: controller "website": step "apply": TypeError: no such field (site/apply.ts:14:49); the next attempt starts when a worker with other code starts, or when the object changes.',
    ])
    const flags = { cluster: 'local', dataDir: '/tmp/d' }
    expect(nextStep({ path: [broken], status: undefined, words: ['website/web'], flags })).toBe(
      'next: fix site/apply.ts:14:49 and restart the worker, which runs the pass again; follow it with pawl trace website/web -w -n ns --data-dir /tmp/d',
    )
  })
})

describe('a fault in level mode', () => {
  it.each([
    ['Invalid', 'team "a" is refused: unknown field status.x', /regenerate the CRD/],
    ['StateNotOwned', 'ConfigMap n/a is owned by nobody', /remove owned/],
    ['SecretContent', 'found values in data', /secretRef/],
    ['InvalidName', 'x', /^next: kubectl events /],
  ])('%s waits for a change when it is final, and the next step fixes it', (reason, message, next) => {
    const failed = website([], { lastError: { reason, message } })
    expect(reasonsOf(failed, quiet)).toEqual([`Website ns/web failed and waits for a change: ${reason}: ${message}.`])
    expect(reasonsOf(failed, { ...quiet, attempt: 2 })[0]).toContain('retries after an error (attempt 2)')
    const flags = { cluster: 'local' }
    expect(nextStep({ path: [failed], status: undefined, words: ['website/web'], flags })).toMatch(next)
  })
})

describe('a list with installations that wait for each other', () => {
  const of = (name: string, more: object = {}) => ({
    object: object('Installation', name, { status: { phase: 'Progressing', jobID: 'j1' } }),
    job: undefined,
    awaited: [],
    unfinished: [],
    ...more,
  })
  const stuck = object('DeployItem', 'base-db', { spec: { type: 'x/y' }, status: { phase: 'Init', jobID: 'j1' } })
  const base = of('base', { reason: stuck, unfinished: [stuck] })
  const middle = of('b-middle', { awaited: [{ ...base.object, since: BEGIN }] })
  const taker = of('a-taker', { awaited: [{ ...middle.object, since: BEGIN }] })

  it('shows the reason of the lowest object, and names the object that has the reason first', () => {
    const rows = withAwaitedRows([taker, middle, base])
    const [first, second, last] = rows.map((one) => waitText(one))
    expect(last).toMatch(/^DeployItem ns\/base-db: spec\.type: no deployer has picked up type "x\/y"; /)
    expect([first, second]).toEqual([last, last])
    expect(causeIn(rows)?.object.name).toBe('base')
  })

  it('may have a cycle', () => {
    const ring = of('b-middle', { awaited: [{ ...taker.object, since: BEGIN }] })
    expect(withAwaitedRows([taker, ring]).map((one) => waitText(one))).toEqual([
      'Installation ns/b-middle: Installation ns/a-taker',
      'Installation ns/a-taker: Installation ns/b-middle',
    ])
  })
})

describe('the trace of a run in level mode', () => {
  const options = { now: BEGIN, paint: plainPaint, replay: 'pawl replay website/web --controllers FILE' }
  const at = (ms: number) => new Date(BEGIN.getTime() + ms)
  const write = (ms: number, more: object = {}) => ({
    pass: 1,
    step: 'rollOut',
    object: 'Deployment.apps/ns/web',
    verb: 'apply',
    version: 7,
    error: null,
    at: at(ms),
    answeredAt: at(ms),
    ...more,
  })
  const linesOf = (...writes: readonly ReturnType<typeof write>[]) =>
    levelRunText(writesOfRun(writes, { startedAt: BEGIN }), options)
      .replaceAll(/^\d\d:\d\d:\d\d {2}/gm, '')
      .split('\n')

  it('lists the writes of this run, without writes of earlier runs, and the command that shows the passes', () => {
    const failed = { pass: 2, version: null, error: { reason: 'Forbidden', message: 'no' } }
    expect(linesOf(write(-1), write(0), write(5, failed))).toEqual([
      'pass 1  apply Deployment.apps/ns/web (rollOut) -> version 7',
      'pass 2  apply Deployment.apps/ns/web (rollOut) -> Forbidden: no',
      'a run in level mode; its passes: pawl replay website/web --controllers FILE',
      '',
    ])
    expect(linesOf()[0]).toBe(
      'a run in level mode, without a write; its passes: pawl replay website/web --controllers FILE',
    )
  })

  it('has the newest 20 writes and the number of the others', () => {
    const lines = linesOf(...Array.from({ length: 22 }, (_, index) => write(index)))
    expect([lines.length, lines[0]]).toEqual([23, '2 earlier writes not shown'])
  })
})

describe('the next command for a replay', () => {
  const flags = { cluster: 'local', namespace: 'ns' }

  it('has the modules of controllers only for kinds that Pawl does not have', () => {
    expect(nextReplay(ready.object, ['website/web'], flags)).toBe('pawl replay website/web -n ns --controllers FILE')
    expect(nextReplay(object('Installation', 'shop', {}), ['inst', 'shop'], flags)).toBe('pawl replay inst/shop -n ns')
  })

  it('repeats the modules and the keys that the user gave', () => {
    const given = { ...flags, controllers: 'site/controllers.ts', payloadKey: 'key' }
    expect(nextReplay(undefined, ['website/web'], given)).toBe(
      'pawl replay website/web -n ns --controllers site/controllers.ts --payload-key key',
    )
  })
})

describe('the first object to look at in a list', () => {
  const listed = (name: string, phase: string, more: object = {}) => ({
    object: object('DeployItem', name, {
      status: { phase, jobID: 'j1', jobIDFinished: phase === 'Failed' ? 'j1' : 'j0' },
    }),
    job: undefined,
    awaited,
    unfinished: [],
    ...more,
  })
  const item = listed('item', 'Progressing')
  const parent = listed('a-parent', 'Progressing', { reason: item.object })
  const failed = listed('z-failed', 'Failed')
  const idle = { ...row(website([])), object: object('Installation', 'a-noop'), job: undefined }

  it.each([
    ['a failed object before a waiting one', [parent, item, failed], 'z-failed'],
    ['an item before its parents', [parent, item], 'item'],
    ['a waiting object before one without a job', [idle, parent], 'a-parent'],
    ['no ready object', [row(ready)], undefined],
  ])('is %s', (...[, rows, name]) => {
    expect(causeIn(rows)?.object.name).toBe(name)
  })
})
