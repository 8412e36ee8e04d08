import { describe, expect, it } from 'vitest'

import { notRequestedSentences, pathToRootCause, reasonsOf } from '../../../../worker/cli/query/root-cause.ts'
import { drawJobTree } from '../../../../worker/cli/query/draw-job-tree.ts'
import { getTable } from '../../../../worker/cli/query/get.ts'
import { waitText } from '../../../../worker/cli/query/listed-object.ts'

import { explainJob } from '../../../../worker/cli/query/why-text.ts'

import type { JobNode } from '../../../../worker/cli/query/job-tree.ts'
import { nextStep } from '../../../../worker/cli/query/next-step.ts'
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
