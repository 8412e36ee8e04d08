import { describe, expect, it } from 'vitest'

import {
  keyOf,
  notRequestedSentences,
  parentErrorIn,
  pathToRootCause,
  reasonsOf,
} from '../../../../worker/cli/query/root-cause.ts'
import { changedLines, drawJobTree, phasesText } from '../../../../worker/cli/query/draw-job-tree.ts'
import { getTable } from '../../../../worker/cli/query/get.ts'
import { waitText } from '../../../../worker/cli/query/listed-object.ts'
import { stateAtEnd, endedWell, isOver } from '../../../../worker/cli/query/job-tree.ts'
import { explainJob } from '../../../../worker/cli/query/why-text.ts'
import { deletionOrder } from '../../../../worker/cli/query/deletion-order.ts'
import type { JobNode } from '../../../../worker/cli/query/job-tree.ts'
import { nextAfterTrace, nextStep } from '../../../../worker/cli/query/next-step.ts'
import { queueSentence, notStartedSentences } from '../../../../worker/cli/query/waiting.ts'
import { formatTime, plainPaint } from '../../../../worker/cli/query/format.ts'
import { after, BEGIN, job, node, nothing, object, quiet } from './build-node.ts'

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

describe('a queued job', () => {
  const { object: shop } = tree
  const told = (...turns: readonly string[]) =>
    explainJob({
      causes: [],
      writes: [],
      passes: undefined,
      newest: undefined,
      path: [node(shop)],
      reasons: [],
      queueSentences: turns,
      now: BEGIN,
      wide: false,
      next: '',
      foreignWrites: new Map(),
    }).answer

  it.each([
    [0, 'its turn', 'no object of its namespace comes before it'],
    [1, 'its turn, 1 before it', '1 of its namespace comes before it'],
    [37, 'its turn, 37 before it', '37 of its namespace come before it'],
    [1000, 'its turn, 1000 or more before it', '1000 or more of its namespace come before it'],
  ])('states that %i jobs are before it', (ahead, short, long) => {
    const turn = { due: BEGIN, ahead }
    expect(waitText({ object: shop, job: undefined, awaited: [], unfinished: [], queuePosition: turn })).toBe(short)
    expect(told(queueSentence(shop, turn, BEGIN))).toBe(
      `Installation ns/shop waits for its turn since ${CLOCK}: ${long}, and namespaces take turns.`,
    )
    expect(told()).not.toEqual(told(queueSentence(shop, turn, BEGIN)))
  })

  it.each([
    ['a pipe or -o wide shows the whole reason', Infinity, 'failed at 04:05:07: '.length + 3000],
    ['a wide terminal shows it to the end of the line', 150, 150 - 'shop   Failed   1.0s       '.length],
    ['a narrow terminal shows 80 characters', 80, 80],
  ])('%s', (_, lineWidth, length) => {
    const shown = object('Installation', 'shop', { status: { phase: 'Failed' } })
    const of = job('shop', { lastError: { message: 'x'.repeat(3000) }, finishedAt: after(1000) })
    const options = { now: BEGIN, paint: plainPaint, wide: false, withNamespace: false, withKind: false, lineWidth }
    const [, line] = getTable([{ object: shown, job: of, awaited: [], unfinished: [] }], options).split('\n')
    expect(/(?<=Failed +\S+ +)failed at \S+ x+\.*$/.exec(line ?? '')?.[0]).toHaveLength(length)
  })

  it('states that in addition to the state of the previous job', () => {
    const failing = object('Installation', 'shop', { status: { phase: 'Failed' } })
    const lastError = { message: 'no such image' }
    const found = { object: failing, job: job('shop', { lastError }), awaited: [], unfinished: [] }
    expect(waitText({ ...found, queuePosition: { due: BEGIN, ahead: 0 } })).toBe('its turn; no such image')
    const ended = { ...found, job: job('shop', { lastError, ...end(5, 'Failed') }) }
    expect(waitText({ ...ended, queuePosition: { due: BEGIN, ahead: 0 } })).toBe(
      `its turn; failed at ${after(5).toISOString()}: no such image`,
    )
  })

  it('states that no worker has started its run', () => {
    const run = { workflowID: 'r', controller: 'c', uid: 'u', namespace: 'ns', name: 'shop', jobID: 'j1', cause: 'x' }
    const since = { startedAt: BEGIN, attempt: 0, runID: null }
    const at = (passes: number) => ({ run: { ...run, ...since, passes }, now: BEGIN })
    expect(notStartedSentences(shop, job('shop'), at(0))).toEqual([
      `Installation ns/shop waits for a worker: its run was created at ${CLOCK}, and no worker has started it.`,
    ])
    expect(notStartedSentences(shop, job('shop'), at(1))).toEqual([])
    expect(notStartedSentences(shop, job('shop', end(1, 'Failed')), at(0))).toEqual([])
  })
})

describe('an object without a job', () => {
  const next = (one: JobNode, flags = {}) =>
    nextStep({ path: [one], status: undefined, words: ['inst/shop'], flags: { cluster: 'local', ...flags } })

  it('needs a request if it is a root', () => {
    const root = node(object('Installation', 'shop'))
    expect(notRequestedSentences(root.object, undefined)).toEqual([
      'Installation ns/shop: no job was requested; request one with pawl reconcile.',
    ])
    expect(next(root, { namespace: 'ns', dataDir: '/tmp/my dev' })).toBe(
      "next: pawl reconcile inst/shop -n ns --data-dir '/tmp/my dev'",
    )
    expect(waitText({ object: root.object, job: undefined, awaited: [], unfinished: [] })).toBe('no job was requested')
    expect(drawJobTree(root, { now: BEGIN, paint: plainPaint })).toContain(
      'Installation ns/shop: no job was requested\n',
    )
  })

  it('comes after the items on which it depends', () => {
    const annotations = { 'execution.landscaper.gardener.cloud/dependsOn': 'db' }
    expect(reasonsOf(node(object('DeployItem', 'app', { metadata: { annotations } })), quiet)).toEqual([
      'DeployItem ns/app has not started: it comes after db.',
    ])
  })
})

describe('an item that no deployer has picked up', () => {
  const item = (type: string, more: object = {}) =>
    node(object('DeployItem', 'db', { spec: { type }, status: { jobID: 'j1', ...more } }))

  it('has a misspelt type', () => {
    const input = { status: undefined, words: ['inst/shop'], flags: { cluster: 'local' } }
    const shop = node(object('Installation', 'shop'), { job: job('shop') })
    expect(nextStep({ ...input, path: [shop, item('landscaper.gardener.cloud/moc')] })).toMatch(
      /; or pawl interrupt inst\/shop, then apply the item with a new name .*; if no job starts by itself: pawl reconcile inst\/shop$/,
    )
    expect(reasonsOf(item('landscaper.gardener.cloud/moc'), quiet)).toEqual([
      'DeployItem ns/db: spec.type: no deployer has picked up type "landscaper.gardener.cloud/moc"; did you mean "landscaper.gardener.cloud/mock"?',
      expect.stringMatching(
        /^Pawl's workers handle the types \S+ and \S+\/mock; another type needs its own deployer\. The type of an item cannot change\. Without /,
      ),
    ])
  })

  it('has a type that no worker handles', () => {
    expect(
      reasonsOf(
        item('landscaper.gardener.cloud/mock', {
          phase: 'Failed',
          jobIDFinished: 'j0',
          jobIDGenerationTime: '2026-02-03T04:05:06Z',
        }),
        quiet,
      ),
    ).toEqual([
      'DeployItem ns/db: spec.type: no deployer has picked up type "landscaper.gardener.cloud/mock"; a worker with --deployers landscaper.gardener.cloud/mock must run.',
    ])
  })
})

describe('an item whose objects are not ready', () => {
  const pod = { text: '2 pods: no node matches disk=ssd', pod: { namespace: 'apps', name: 'web-1' }, hasCrashed: false }
  const status = { summary: 'Deployment apps/web: 0 of 2 replicas available', pods: [pod] }
  const item = node(object('DeployItem', 'db', { status: { phase: 'Progressing', jobID: 'j1' } }))
  const shop = node(object('Installation', 'shop'), { job: job('shop', { phase: 'Progressing' }), children: [item] })

  it('is explained by the object and its pods, in the first line', () => {
    const path = pathToRootCause(shop)
    const reasons = reasonsOf(item, { ...quiet, status })
    expect(explainJob({ ...nothing, path, reasons, next: 'next: x' })).toMatchObject({
      answer:
        'Installation ns/shop is Progressing: DeployItem ns/db: Deployment apps/web: 0 of 2 replicas available (2 pods: no node matches disk=ssd).',
      now: ['Installation ns/shop (Progressing) waits for DeployItem ns/db (Progressing).'],
    })
  })

  it('has the next run of the cron that created it', () => {
    const game = node(
      { ...object('Disruption', 'game', { status: { injectionStatus: 'Injected' } }), group: 'chaos.datadoghq.com' },
      { job: job('game', { jobID: '' }) },
    )
    const cron = node(
      { ...object('DisruptionCron', 'hot'), group: 'chaos.datadoghq.com' },
      { job: job('hot', { jobID: '' }), children: [game] },
    )
    const reasons = reasonsOf(game, { ...quiet, status: { summary: '2 of 2 targets injected', pods: [] } })
    const path = pathToRootCause(cron)
    expect(explainJob({ ...nothing, path, reasons, subjectSummary: 'next run at 10:00', next: '' })).toMatchObject({
      answer: 'DisruptionCron ns/hot: next run at 10:00; Disruption ns/game: 2 of 2 targets injected.',
      now: ['DisruptionCron ns/hot waits for Disruption ns/game (Injected).'],
    })
  })

  it('has as its next step the command of its kind, such as the end of an emergency stop', () => {
    const flags = { cluster: 'local', namespace: 'ns', dataDir: '/tmp/d' }
    expect(nextStep({ path: [shop], status: undefined, command: 'chaos resume --all', words: ['x/y'], flags })).toBe(
      'next: pawl chaos resume --all --data-dir /tmp/d',
    )
  })

  it('is explained in the tree and in lists', () => {
    const found = 'Deployment apps/web: 0 of 2 replicas available (2 pods: no node matches disk=ssd)'
    const statuses = new Map([[item.object.uid, status]])
    expect(drawJobTree(shop, { now: BEGIN, paint: plainPaint, statuses })).toMatch(
      new RegExp(`DeployItem ns/db .*${found.replace(/[()]/g, '\\$&')}\n$`),
    )
    const row = { object: shop.object, job: shop.job, awaited: [], unfinished: [], reason: item.object, status }
    expect(waitText(row)).toBe(`DeployItem ns/db: ${found}`)
  })

  it.each([
    [false, 'kubectl describe pod web-1 -n apps'],
    [true, 'kubectl logs web-1 --previous -n apps'],
  ])('has a command for its pod, crashed: %s', (hasCrashed, command) => {
    const pods = [{ ...pod, hasCrashed }]
    expect(
      nextStep({
        path: [shop, item],
        status: { ...status, pods },
        words: ['inst', 'shop'],
        flags: { cluster: 'local' },
      }),
    ).toBe(
      `next: ${command}; if the spec is wrong: pawl interrupt inst/shop, then apply the corrected spec; if no job starts by itself: pawl reconcile inst/shop`,
    )
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
