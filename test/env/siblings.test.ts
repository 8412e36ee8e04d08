// Dependencies between siblings, which are the roots of a namespace or the sub-installations of a parent: the siblings for which one waits, the siblings that
// must be deleted before it, and the roots that the end of a root starts. On a server that the test controls, with a real journal.
// Source: spec/landscaper.md 2.2 trigger 5, 2.3 "Init" 3, 2.4, 2.6.

import { sql } from 'kysely'
import { describe, expect, inject, it } from 'vitest'
import { dependentActivities } from '../../activities/landscaper/installation/dependents.ts'
import { predecessorsOf, successorsOf } from '../../activities/landscaper/installation/siblings.ts'
import { journalEvents } from '../../activities/journal/write/events.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { storedAs } from '../../activities/kube/object-views.ts'
import { OPERATION_ANNOTATION } from '../../workflows/landscaper/contract.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { refusal } from '../activities/kube/tiny-api.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { API } from '../support/cluster/cluster.ts'

const JOB = 'job'
const INTERRUPTED = { annotations: { [OPERATION_ANNOTATION]: 'interrupt' } }
const LEAVING = { deletionTimestamp: '2030-01-01T00:00:00Z', finalizers: ['example.com/held'] }
const PARENT = { apiVersion: API, kind: 'Installation', uid: 'uid-parent', name: 'parent', controller: true }
const NONE = { unfinished: [], failed: [] }
const WAITS = { unfinished: ['db'], failed: [] }
const failing = (...failed: readonly string[]) => ({ unfinished: [], failed })
const DELETED = failing('db is being deleted')
const ASKED = { annotations: { [OPERATION_ANNOTATION]: 'reconcile' } }

const stage = useWriteStage(inject('servers').databaseUrl)

interface Root {
  readonly name: string
  readonly namespace?: string
  readonly status?: object
  readonly metadata?: object
  readonly imports?: readonly string[]
  readonly exports?: readonly string[]
  readonly optimization?: object
}

/** Stores the Installation on the API server. */
function put({ name, namespace = 'n', imports = [], exports = [], ...more }: Root): KubeObject {
  const { status = {}, metadata = {}, optimization = {} } = more
  const spec = {
    imports: { data: imports.map((one) => ({ name: one, dataRef: one })) },
    exports: { data: exports.map((one) => ({ name: one, dataRef: one })) },
    blueprint: {},
    optimization,
  }
  const own = { name, namespace, uid: `uid-${namespace}-${name}`, generation: 1 }
  const object = { apiVersion: API, kind: 'Installation', metadata: { ...own, ...metadata }, spec, status }
  return stage().api.put(`/apis/${API}/namespaces/${namespace}/installations/${name}`, object)
}

/** Journals an event of each object, and wakes no run. */
async function hear(...objects: readonly KubeObject[]) {
  const { deps } = stage()
  const events = objects.map((object) => ({ watched: installationKind, type: 'MODIFIED' as const, object }))
  const quiet = { subjectKinds: {}, modes: {}, route: () => ({ ignored: 'by this test' }) }
  const how = { ...quiet, contentKey: undefined, now: deps.now }
  await journalEvents(deps.db, { cluster: 'local', source: 'watch', events }, how)
}

const onlooker = ({ metadata: { name, namespace = '', uid = '' } }: KubeObject) => ({
  by: { workflowID: `installation/${namespace}/${name}/${uid}/${JOB}`, runID: 'run', pass: 1 },
  subject: { group: 'landscaper.gardener.cloud', kind: 'Installation', uid, namespace, name },
  jobID: JOB,
})
const before = async (object: KubeObject) =>
  await predecessorsOf(stage().deps, onlooker(object), storedAs(installationKind, object))
const after = async (object: KubeObject) =>
  await successorsOf(stage().deps, onlooker(object), storedAs(installationKind, object))
const end = async (object: KubeObject) => {
  const { by, subject, jobID } = onlooker(object)
  await dependentActivities(stage().deps).triggerDependents({ by, subject, jobID })
}
const askLeft = async (object: KubeObject) =>
  await dependentActivities(stage().deps).askLeftDependents(onlooker(object))
/** The journal's database, and the kinds of the statements that it executes. */
function counted() {
  const statements: string[] = []
  const db = stage().deps.db.withPlugin({
    transformQuery: ({ node }) => {
      statements.push(node.kind)
      return node
    },
    transformResult: ({ result }) => Promise.resolve(result),
  })
  return { db, statements }
}
const waitsOf = async () => {
  const { rows } = await sql<{ name: string }>`select name from subscription order by name`.execute(stage().deps.db)
  return rows.map(({ name }) => name)
}
const operationOf = (name: string, namespace = 'n') =>
  stage().api.objects.get(`/apis/${API}/namespaces/${namespace}/installations/${name}`)?.metadata.annotations?.[
    OPERATION_ANNOTATION
  ]

const app = (more: Partial<Root> = {}): Root => ({ name: 'app', imports: ['address'], ...more })
const db = (more: Partial<Root> = {}): Root => ({ name: 'db', exports: ['address'], ...more })
const running = (phase: string) => ({ jobID: 'own', jobIDFinished: 'before', phase })
const ended = (phase: string) => ({ jobID: 'own', jobIDFinished: 'own', phase })

describe('a root installation that imports from another', () => {
  it.each([
    ['runs a job', { status: running('Progressing') }],
    ['has a pending operation annotation', { status: ended('Succeeded'), metadata: ASKED }],
    ['has never run, and has a pending operation annotation', { metadata: ASKED }],
    ['runs a job while a user deletes it: the job ends first', { status: running('Progressing'), metadata: LEAVING }],
  ])('waits for an exporter that %s', async (_, more) => {
    const importer = put(app())
    await hear(importer, put(db(more)))
    expect(await before(importer)).toEqual(WAITS)
    expect(await waitsOf()).toEqual(['db'])
  })

  it('reads only the journal about an exporter that has succeeded', async () => {
    const importer = put(app())
    await hear(importer, put(db({ status: ended('Succeeded') })))
    stage().api.requests.length = 0
    expect(await before(importer)).toEqual(NONE)
    expect([stage().api.requests, await waitsOf()]).toEqual([[], []])
  })

  it.each([
    ['failed', { status: ended('Failed') }, 'db is Failed'],
    ['never ran', {}, 'db has never run'],
    ['has a deletionTimestamp', { status: ended('Succeeded'), metadata: LEAVING }, 'db is being deleted'],
    ['runs its deletion job', { status: running('InitDelete'), metadata: LEAVING }, 'db is being deleted'],
  ])('fails because of an exporter that %s', async (_, more, told) => {
    const importer = put(app())
    await hear(importer, put(db(more)))
    expect(await before(importer)).toEqual(failing(told))
  })

  it('reads from the API server while the journal is behind, and from the journal the next time', async () => {
    const importer = put(app())
    await hear(importer, put(db({ status: running('Progressing') })))
    const now = put(db({ status: ended('Succeeded') }))
    expect(await before(importer)).toEqual(NONE)
    const again = put(db({ status: running('Init') }))
    await hear(now, again)
    stage().api.requests.length = 0
    expect(await before(importer)).toEqual(WAITS)
    expect(stage().api.requests).toEqual([])
  })

  it('ignores installations of other namespaces, deleted installations, and sub-installations', async () => {
    const importer = put(app())
    const elsewhere = put(db({ namespace: 'm' }))
    const sub = put(db({ name: 'sub', metadata: { ownerReferences: [PARENT] } }))
    const gone = put(db({ name: 'gone' }))
    await hear(importer, elsewhere, sub, gone)
    const { deps } = stage()
    await sql`update object set deleted = true where name = 'gone'`.execute(deps.db)
    expect(await before(importer)).toEqual(NONE)
    await end(elsewhere)
    expect(operationOf('app')).toBeUndefined()
  })

  it('waits for no exporter when it declares hasNoSiblingImports, and no exporter waits for it', async () => {
    const importer = put(app({ optimization: { hasNoSiblingImports: true } }))
    const exporter = put(db({ status: running('Progressing') }))
    await hear(importer, exporter)
    expect(await before(importer)).toEqual(NONE)
    expect(await after(exporter)).toEqual(NONE)
  })

  it('fails with ImportRing when it is part of an import cycle, and ignores cycles of other roots and its own export', async () => {
    const a = put({ name: 'a', imports: ['z'], exports: ['x'] })
    const b = put({ name: 'b', imports: ['x'], exports: ['y'] })
    const c = put({ name: 'c', imports: ['y'], exports: ['z', 'out'] })
    const outside = put({ name: 'outside', imports: ['out'], exports: ['own'] })
    await hear(a, b, c, outside)
    await expect(before(b)).rejects.toMatchObject({
      type: 'ImportRing',
      message: expect.stringContaining('b -> a -> c -> b') as string,
    })
    expect(await before(outside)).toEqual(failing('c has never run'))
    const own = put({ name: 'own', imports: ['self'], exports: ['self'] })
    await hear(own)
    expect(await before(own)).toEqual(NONE)
  })
})

describe('a root installation under deletion that exports to others', () => {
  it('waits for all importers, in any phase', async () => {
    const exporter = put(db({ metadata: LEAVING }))
    await hear(
      exporter,
      put(app({ status: running('Progressing') })),
      put(app({ name: 'idle' })),
      put(app({ name: 'stuck', metadata: LEAVING, status: ended('DeleteFailed') })),
    )
    expect(await after(exporter)).toEqual({ unfinished: ['app', 'idle', 'stuck (DeleteFailed)'], failed: [] })
    expect(await waitsOf()).toEqual(['app', 'idle', 'stuck'])
  })

  it('does not wait for an importer under deletion that is in an import cycle with it', async () => {
    const a = put({ name: 'a', imports: ['y'], exports: ['x'], metadata: LEAVING })
    const b = put({ name: 'b', imports: ['x'], exports: ['y'] })
    await hear(a, b)
    expect(await after(a)).toEqual({ unfinished: ['b'], failed: [] })
    await hear(put({ name: 'b', imports: ['x'], exports: ['y'], metadata: LEAVING }))
    expect(await after(a)).toEqual(NONE)
  })
})

describe('the end of a root installation', () => {
  it('requests a reconcile of its importers only, and again after they have started the previous one', async () => {
    const exporter = put(db())
    await hear(exporter, put(app()), put(app({ name: 'other', imports: ['else'] })))
    await end(exporter)
    expect([operationOf('app'), operationOf('other')]).toEqual(['reconcile', undefined])
    // The journal does not know yet that the importer has started the requested reconcile.
    put(app({ status: running('Init') }))
    await end(exporter)
    expect(operationOf('app')).toBe('reconcile')
  })

  it.each([
    ['is being deleted', { metadata: LEAVING }, undefined],
    ['has a pending interrupt', { metadata: INTERRUPTED, status: running('Progressing') }, 'interrupt'],
    ['has a leftover interrupt annotation', { metadata: INTERRUPTED }, 'reconcile'],
  ])('requests a reconcile only where none is pending: of an importer that %s', async (_, more, operation) => {
    const exporter = put(db())
    await hear(exporter, put(app(more)))
    await end(exporter)
    expect(operationOf('app')).toBe(operation)
  })

  it('is not delayed by an importer that the API server refuses to update, and emits an Event', async () => {
    const exporter = put(db())
    await hear(exporter, put(app()), put(app({ name: 'next' })))
    stage().api.intercept = ({ method, path }) =>
      method === 'PATCH' && path.endsWith('/app') ? refusal(403, 'Forbidden') : undefined
    await end(exporter)
    expect(operationOf('next')).toBe('reconcile')
    expect(stage().api.requests.filter((request) => request.startsWith('POST'))).toEqual(['POST n/events'])
  })

  it('fails with an error while the API server is unavailable', async () => {
    const exporter = put(db())
    await hear(exporter, put(app()))
    stage().api.intercept = ({ method }) => (method === 'PATCH' ? refusal(503, 'ServiceUnavailable') : undefined)
    await expect(end(exporter)).rejects.toThrow()
  })
})

describe('a root installation among 1,000 roots without common data', () => {
  it('runs one query on the journal and finds no predecessors', async () => {
    const many = Array.from({ length: 1000 }, (_, index) =>
      put({ name: `root-${index}`, imports: [`in-${index}`], exports: [`out-${index}`], status: ended('Succeeded') }),
    )
    await hear(...many)
    const { deps, api } = stage()
    const [one] = many
    if (one === undefined) throw new Error('none was made')
    const { db, statements } = counted()
    api.requests.length = 0
    expect(await predecessorsOf({ ...deps, db }, onlooker(one), storedAs(installationKind, one))).toEqual(NONE)
    expect([statements.length, api.requests]).toEqual([1, []])
  })
})

describe('an installation with a list of dependents to trigger from the original Landscaper', () => {
  const left = (...names: readonly string[]) => ({
    ...ended('Succeeded'),
    dependentsToTrigger: names.map((name) => ({ name })),
  })
  const listOf = (name: string) => {
    const status = stage().api.objects.get(`/apis/${API}/namespaces/n/installations/${name}`)?.['status']
    return (status as Readonly<Record<string, unknown>>)['dependentsToTrigger']
  }

  it('requests a reconcile of the listed dependents, and empties the list', async () => {
    const giver = put(db({ status: left('app', 'gone', 'app', '..', 'app/status') }))
    put(app())
    await hear(giver)
    const view = await askLeft(giver)
    expect(view).toMatchObject({ jobID: 'own' })
    expect(view).not.toHaveProperty('hasLeftDependents')
    expect([operationOf('app'), listOf('db')]).toEqual(['reconcile', undefined])
    expect(await askLeft(giver)).toMatchObject({ jobID: 'own' })
  })

  it('skips dependents that are being deleted, have another operation, have a parent, or are in another namespace', async () => {
    const giver = put(db({ status: left('leaving', 'interrupted', 'sub', 'far', 'db') }))
    put(app({ name: 'leaving', metadata: LEAVING }))
    put(app({ name: 'interrupted', metadata: INTERRUPTED, status: running('Progressing') }))
    put(app({ name: 'sub', metadata: { ownerReferences: [PARENT] } }))
    put(app({ name: 'far', namespace: 'm' }))
    await hear(giver)
    await askLeft(giver)
    expect(['leaving', 'interrupted', 'sub', 'db'].map((name) => operationOf(name))).toEqual([
      ...[undefined, 'interrupt', undefined, undefined],
    ])
    expect([operationOf('far', 'm'), listOf('db')]).toEqual([undefined, undefined])
    // An Installation with a parent triggers none.
    const sub = put(db({ status: left('app'), metadata: { ownerReferences: [PARENT] } }))
    put(app())
    await hear(sub)
    await askLeft(sub)
    expect([operationOf('app'), listOf('db')]).toEqual([undefined, undefined])
  })
})

/** Stores a sub-installation of `parent`. */
const putSub = ({ metadata = {}, ...more }: Root) => {
  const labels = { 'landscaper.gardener.cloud/encompassed-by': 'parent' }
  return put({ ...more, metadata: { labels, ownerReferences: [PARENT], ...metadata } })
}
const parent = (metadata: object = {}) => put({ name: 'parent', metadata: { uid: 'uid-parent', ...metadata } })
const endedIn = (phase: string) => ({ jobID: JOB, jobIDFinished: JOB, phase })
const runningIn = (phase: string) => ({ jobID: JOB, jobIDFinished: 'before', phase })
const earlier = (phase: string) => ({ jobID: 'before', jobIDFinished: 'before', phase })

/** The siblings for which the sub-installation `app` waits, which imports `address`. */
async function subBefore(...others: readonly Root[]) {
  const importer = putSub(app({ status: runningIn('Init') }))
  for (const one of others) putSub(one)
  return await before(importer)
}

/** The siblings for which `db` waits in its deletion, which exports `address`. */
async function subAfter(...others: readonly Root[]) {
  const exporter = putSub(db({ metadata: LEAVING, status: runningIn('InitDelete') }))
  for (const one of others) putSub(one)
  return await after(exporter)
}

describe('a sub-installation that imports from a sibling', () => {
  it.each([
    ['does not have the job yet', { status: earlier('Succeeded') }, WAITS],
    ['has the job, and has not started it', { status: runningIn('Succeeded') }, WAITS],
    ['runs the job', { status: runningIn('Progressing') }, WAITS],
    ['runs the job while a user deletes it', { status: runningIn('Progressing'), metadata: LEAVING }, WAITS],
    ['has succeeded', { status: endedIn('Succeeded') }, NONE],
    ['has failed', { status: endedIn('Failed') }, failing('db is Failed')],
    ['is deleted without the job', { status: earlier('Succeeded'), metadata: LEAVING }, DELETED],
    ['is deleted before it starts the job', { status: runningIn('Succeeded'), metadata: LEAVING }, DELETED],
    ['is uninstalled in the job', { status: runningIn('InitDelete'), metadata: LEAVING }, DELETED],
  ])('waits, continues or fails because of a sibling that %s', async (_, more, expected) => {
    parent()
    expect(await subBefore(db(more))).toEqual(expected)
  })

  it('does not wait until a sibling gets the job when their parent is gone', async () => {
    const gone = failing('db has no job, and its parent is gone')
    expect(await subBefore(db({ status: earlier('Succeeded') }))).toEqual(gone)
    expect(await subBefore(db({ status: runningIn('Init') }))).toEqual(WAITS)
  })
})

describe('a sub-installation under deletion that exports to a sibling', () => {
  const waits = { unfinished: ['app'], failed: [] }

  it.each([
    ['is being deleted without the job', { metadata: LEAVING, status: earlier('Succeeded') }, waits],
    ['is uninstalled in the job', { metadata: LEAVING, status: runningIn('Deleting') }, waits],
    ['could not be deleted', { metadata: LEAVING, status: endedIn('DeleteFailed') }, failing('app is DeleteFailed')],
    ['is not being deleted', { status: runningIn('Init') }, NONE],
    ['is deleted in a later job only', { metadata: LEAVING, status: endedIn('Failed') }, NONE],
  ])('waits, continues or fails because of a sibling that %s', async (_, more, expected) => {
    parent(LEAVING)
    expect(await subAfter(app(more))).toEqual(expected)
  })

  it('does not wait for a sibling when their parent is gone', async () => {
    const stuck = { metadata: LEAVING, status: { jobID: 'own', jobIDFinished: 'own', phase: 'DeleteFailed' } }
    expect(await subAfter(app(stuck))).toEqual(NONE)
  })
})

describe('a sub-installation among many siblings', () => {
  const MANY = 200
  const wide = Array.from({ length: MANY }, (_, index) => ({ name: `sub-${index}`, exports: [`value-${index}`] }))

  it.each([
    ['imports nothing', { imports: [] }],
    ['declares hasNoSiblingImports', { optimization: { hasNoSiblingImports: true } }],
  ])('reads no sibling when it %s', async (_, more) => {
    const alone = putSub({ name: 'alone', imports: wide.flatMap((one) => one.exports), ...more })
    stage().api.requests.length = 0
    expect(await before(alone)).toEqual(NONE)
    expect(stage().api.requests).toEqual([])
  })

  it('subscribes to 200 siblings with one INSERT and at most three API requests', async () => {
    parent()
    const { deps, api } = stage()
    for (const one of wide) putSub({ ...one, status: runningIn('Progressing') })
    const last = putSub({ name: 'last', imports: wide.flatMap((one) => one.exports), status: runningIn('Init') })
    const { db, statements } = counted()
    api.requests.length = 0
    const { unfinished } = await predecessorsOf({ ...deps, db }, onlooker(last), storedAs(installationKind, last))
    expect(unfinished).toHaveLength(11)
    expect(unfinished.at(-1)).toBe('and 190 more')
    expect(statements.filter((kind) => kind === 'InsertQueryNode')).toHaveLength(1)
    expect(api.requests.length).toBeLessThanOrEqual(3)
    expect(await waitsOf()).toHaveLength(MANY)
  })
})
