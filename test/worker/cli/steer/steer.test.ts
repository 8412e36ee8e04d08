import { describe, expect, it } from 'vitest'
import type { KubeObject } from '../../../../activities/kube/client.ts'
import { kubeconfigText } from '../../../../worker/cli/kubeconfig.ts'
import {
  blockerLines,
  blockersOf,
  isNotable,
  remedies,
  runningJobBlocker,
  unstartedDeletion,
} from '../../../../worker/cli/steer/blockers.ts'
import { deletionOrderText } from '../../../../worker/cli/steer/deletion-order.ts'
import { treeOf, childrenFirst } from '../../../../worker/cli/steer/live-tree.ts'
import { reasonIn, steeredKinds, findSteeredKind } from '../../../../worker/cli/steer/open-object.ts'
import { has, otherThan } from '../../../../worker/cli/steer/reconcile.ts'
import { recordText } from '../../../../worker/cli/steer/record.ts'

const API = 'landscaper.gardener.cloud/v1alpha1'
const OURS = 'finalizer.landscaper.gardener.cloud'
const kindOf = (name: string) => steeredKinds().find(({ kind }) => kind === name)!
const SINCE = '2026-02-03T04:05:06Z'

type Metadata = Partial<KubeObject['metadata']>
const object = (name: string, owner: string | undefined, metadata: Metadata = {}, status: object = {}): KubeObject => ({
  metadata: {
    name,
    namespace: 'ns',
    uid: `uid-${name}`,
    ...metadata,
    ...(owner !== undefined && { ownerReferences: [ownedBy(owner)] }),
  },
  status,
})
function ownedBy(text: string) {
  const [kind = '', name = ''] = text.split('/')
  return { apiVersion: API, kind, name, uid: `uid-${name}`, controller: true }
}

describe('the object of a steering command', () => {
  it.each([
    [['inst/shop'], 'Installation', 'shop'],
    [['di', 'x'], 'DeployItem', 'x'],
  ])('is parsed from %j', (words, kind, name) => {
    expect(findSteeredKind(words)).toMatchObject({ kind: { kind }, name })
  })

  it('must have a kind with jobs', () => {
    expect(() => findSteeredKind(['pod/x'])).toThrow(
      /^kind "pod" does not exist; expected DeployItem, .*; objects in level mode have no jobs: .* kubectl annotate pod x /,
    )
  })
})

describe('the reason', () => {
  it('is one line of limited length', () => {
    expect(reasonIn(' new certificate ')).toBe('new certificate')
    expect(reasonIn(undefined)).toBeUndefined()
    for (const text of ['', 'a\nb', '\u001b[31m', 'x'.repeat(257)])
      expect(() => reasonIn(text)).toThrow('expected one line of 1 to 256 characters')
  })

  it('is recorded with user, operation and time', () => {
    const now = new Date(SINCE)
    expect(JSON.parse(recordText({ user: 'alice', reason: 'x "y"' }, 'reconcile', now))).toEqual({
      what: 'reconcile',
      by: 'alice',
      at: now.toISOString(),
      why: 'x "y"',
    })
    expect(recordText({ user: 'alice', reason: undefined }, 'reconcile', now)).not.toContain('why')
  })
})

describe('an operation annotation', () => {
  const wanted = { 'a/operation': 'reconcile' }
  it.each([
    [{}, false, undefined],
    [wanted, true, undefined],
    [{ 'a/operation': 'interrupt' }, false, 'a/operation=interrupt'],
  ])('with the value %j is found', (annotations, isThere, other) => {
    const of = object('x', undefined, { annotations })
    expect([has(of, wanted), otherThan(of, wanted)]).toEqual([isThere, other])
  })
})

describe('a blocked deletion', () => {
  const deleting = { deletionTimestamp: SINCE, finalizers: [OURS] }
  const failed = { phase: 'DeleteFailed', lastError: { reason: 'Uninstall', message: 'no such cluster' } }
  const root = { kind: kindOf('Installation'), object: object('shop', undefined, deleting, failed) }
  const managedFields = [
    { manager: 'kubectl-edit', fieldsV1: { 'f:metadata': { 'f:finalizers': { 'v:"a.example/keep"': {} } } } },
  ]
  const all = [
    { kind: kindOf('Execution'), object: object('shop', 'Installation/shop', deleting) },
    { kind: kindOf('DeployItem'), object: object('db', 'Execution/shop', deleting, failed) },
    {
      kind: kindOf('DeployItem'),
      object: object('kept', 'Execution/shop', { ...deleting, finalizers: ['a.example/keep'], managedFields }),
    },
    // Any user can write an owner reference.
    { kind: kindOf('DeployItem'), object: object('strange', 'Execution/shop', { namespace: 'other' }) },
    { kind: kindOf('DeployItem'), object: object('loose', undefined) },
  ]
  const tree = treeOf(root, all)
  const blockers = blockersOf(tree)

  it('shows the lowest remaining objects, their finalizers and the managers of these', () => {
    expect(childrenFirst(tree).map((node) => node.object.metadata.name)).toEqual(['db', 'kept', 'shop', 'shop'])
    expect(blockers.flatMap(blockerLines)).toEqual([
      `DeployItem ns/db: in deletion since ${SINCE}, phase DeleteFailed: Uninstall: no such cluster`,
      `  finalizer "${OURS}": the deletion job removes it when it succeeds`,
      `DeployItem ns/kept: in deletion since ${SINCE}`,
      '  finalizer "a.example/keep", set by "kubectl-edit": the program that set it must remove it',
    ])
    expect(blockers.map(({ isStuck }) => isStuck)).toEqual([true, true])
  })

  it('shows a finalizer of another program already before the turn of its object', () => {
    const item = object('kept', 'Execution/shop', { finalizers: [OURS, 'a.example/keep'], managedFields })
    const young = treeOf({ ...root, object: object('shop', undefined, deleting) }, [
      ...all.slice(0, 1),
      { kind: kindOf('DeployItem'), object: item },
    ])
    const [blocker] = blockersOf(young)
    expect(blocker).toMatchObject({ isStuck: true })
    expect(blockerLines(blocker!)).toEqual([
      'DeployItem ns/kept: not in deletion yet',
      '  finalizer "a.example/keep", set by "kubectl-edit": the program that set it must remove it',
    ])
    expect(remedies(young, blockersOf(young), 'inst/shop -n ns').map((line) => line.replace(/: .*/, ''))).toEqual([
      'when the cause is fixed, or cannot be fixed:',
      '  kubectl edit deployitem/kept -n ns',
      '  pawl delete inst/shop -n ns --force --reason TEXT',
    ])
  })

  it('shows the waits in its conditions as well', () => {
    const conditions = [{ type: 'WaitsForSiblings', status: 'True', message: 'waits for Installation b' }]
    const waiting = treeOf({ ...root, object: object('shop', undefined, deleting, { conditions }) }, all.slice(0, 1))
    expect(blockersOf(waiting).flatMap(blockerLines)).toContain('  waits for Installation b')
    expect(blockersOf(waiting).flatMap(blockerLines)[0]).toContain('Execution ns/shop')
  })

  it('waits for a running job that deploys', () => {
    const metadata = { deletionTimestamp: SINCE }
    const busy = { phase: 'Progressing', jobID: 'j2', jobIDFinished: 'j1' }
    const below = (status: object) => [
      { kind: kindOf('Execution'), object: object('shop', 'Installation/shop', {}, status) },
    ]
    const blocker = (status: object, execution: object) =>
      runningJobBlocker(
        treeOf({ ...root, object: object('shop', undefined, metadata, status) }, below(execution)),
        new Date(SINCE),
      )
    expect(blocker(busy, busy)).toMatchObject({
      waits: [
        expect.stringMatching(/^Installation ns\/shop: .* waits for the running job; pawl interrupt ends the job$/),
      ],
      isStuck: true,
    })
    expect(blocker(busy, { phase: 'Succeeded', jobID: 'j1', jobIDFinished: 'j1' })).toBeUndefined()
    expect(blocker({ ...busy, phase: 'Deleting' }, busy)).toBeUndefined()
    expect(blocker({ ...busy, paused: { by: 'alice' } }, busy)).toBeUndefined()
  })

  it('has the reason why a running uninstall has not ended', () => {
    const conditions = [{ type: 'ResourcesReady', status: 'False', message: 'ConfigMap a/b is being deleted' }]
    const times = { lastReconcileTime: SINCE, jobIDGenerationTime: SINCE }
    const uninstalling = { phase: 'Deleting', jobID: 'j2', jobIDFinished: 'j1', conditions, ...times }
    const waitsOf = (status: object) =>
      blockersOf({ kind: kindOf('DeployItem'), object: object('db', undefined, deleting, status), children: [] })
    expect(waitsOf(uninstalling)).toMatchObject([{ waits: ['ConfigMap a/b is being deleted'], isStuck: false }])
    expect(waitsOf({ ...uninstalling, jobID: 'j1' })).toMatchObject([{ waits: [] }])
  })

  it.each([
    ['30 s after the deletion, without a job', 31, {}, true],
    ['before', 29, {}, false],
    ['while its job runs', 31, { jobID: 'j2' }, false],
    ['after its job has failed', 31, { phase: 'DeleteFailed' }, false],
    [
      'while a condition has the reason',
      31,
      { conditions: [{ type: 'WaitsForSiblings', status: 'True', message: 'x' }] },
      false,
    ],
  ])('points to the worker: %s', (_, seconds, status, isShown) => {
    const now = new Date(Date.parse(SINCE) + seconds * 1000)
    const found = unstartedDeletion(treeOf({ ...root, object: object('shop', undefined, deleting, status) }, []), now)
    expect(found?.waits).toEqual(
      isShown ? ["no job has started; pawl doctor checks Pawl's worker and bridge"] : undefined,
    )
  })

  it('shows remedies if only a user can continue it', () => {
    expect(remedies(tree, blockers, 'inst/shop -n ns').map((line) => line.replace(/:.*/, ''))).toEqual([
      'when the cause is fixed, or cannot be fixed',
      '  pawl reconcile inst/shop -n ns',
      '  kubectl edit deployitem/kept -n ns',
      '  pawl delete inst/shop -n ns --without-uninstall',
      '  pawl delete inst/shop -n ns --force --reason TEXT',
    ])
    const young = treeOf({ ...root, object: object('shop', undefined, deleting) }, [])
    expect(remedies(young, blockersOf(young), 'x')).toEqual([])
  })
})

describe('a normal deletion', () => {
  const item = (name: string, after: string, metadata: Metadata = {}, owner = 'Execution/shop') => ({
    kind: kindOf('DeployItem'),
    object: object(`shop-${name}-1`, owner, {
      labels: { 'execution.landscaper.gardener.cloud/name': name },
      annotations: { 'execution.landscaper.gardener.cloud/dependsOn': after },
      ...metadata,
    }),
  })
  const root = { kind: kindOf('Installation'), object: object('shop', undefined, { deletionTimestamp: SINCE }) }
  const execution = { kind: kindOf('Execution'), object: object('shop', 'Installation/shop') }
  const textOf = (...items: readonly ReturnType<typeof item>[]) =>
    deletionOrderText(treeOf(root, [execution, ...items]))

  it('shows the items in the order of their deletion, and reports no problem', () => {
    const items = [item('db', ''), item('cache', ''), item('app', 'db,cache')]
    expect(textOf(...items)).toBe('deleting 3 items in reverse order: app, then db and cache')
    expect(blockersOf(treeOf(root, [execution, ...items])).filter(isNotable)).toEqual([])
    expect(textOf(item('db', ''), item('web', ''))).toBe('deleting 2 items: db and web')
    const running = item('db', '', { deletionTimestamp: SINCE })
    expect(textOf(running)).toBe('deleting 1 item: db (waiting)')
    expect(textOf()).toBeUndefined()
  })

  it('shows the items of a cycle, and a part of a long chain', () => {
    expect(textOf(item('a', 'b'), item('b', 'a'))).toMatch(/^deleting 2 items/)
    const chain = Array.from({ length: 9 }, (_, index) => item(`i${index}`, index === 0 ? '' : `i${index - 1}`))
    expect(textOf(...chain)).toBe('deleting 9 items in reverse order: i8, then i7, then i6, then i5, then 5 more')
  })
})

describe("the user's kubeconfig", () => {
  const file = {
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://x', 'certificate-authority': 'ca.pem' } }],
    users: [{ name: 'u', user: { 'client-key': '/abs/key.pem', token: 't' } }],
  }

  it('is merged from several files with the selected context and absolute file paths', () => {
    const other = { contexts: [{ name: 'b', context: { cluster: 'c', user: 'u' } }] }
    const files = [
      { path: '/home/x/.kube/config', content: file },
      { path: '/other/config', content: other },
    ]
    const text = JSON.parse(kubeconfigText(files, 'b')) as Record<string, unknown>
    expect(text).toMatchObject({ 'current-context': 'b', users: [{ user: { 'client-key': '/abs/key.pem' } }] })
    expect(JSON.stringify(text['clusters'])).toContain('/home/x/.kube/ca.pem')
  })

  it('is required, and must have the selected context', () => {
    expect(() => kubeconfigText([], undefined)).toThrow('no kubeconfig was found; run the export lines')
    expect(() => kubeconfigText([{ path: '/a', content: {} }], undefined)).toThrow(
      'kubeconfig "/a": current-context is missing',
    )
    expect(() => kubeconfigText([{ path: '/a', content: file }], 'z')).toThrow(
      'context "z" does not exist in the kubeconfig; expected a',
    )
  })
})
