// Dependencies between roots of a namespace: the roots for which a root waits, the roots that must be deleted before
// it, and the roots that its end starts. On a server that the test controls, with a real journal. Source:
// spec/landscaper.md 2.2 trigger 5, 2.3 "Init" 3, 2.4, 2.6.

import { sql } from 'kysely'
import { describe, expect, inject, it } from 'vitest'
import { dependentActivities } from '../../activities/landscaper/installation/dependents.ts'
import { predecessorsOf, successorsOf } from '../../activities/landscaper/installation/siblings.ts'
import { journalEvents } from '../../activities/journal/write/events.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { storedAs } from '../../activities/kube/object-views.ts'
import { OPERATION_ANNOTATION } from '../../workflows/landscaper/contract.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { API } from '../support/cluster/cluster.ts'

const JOB = 'job'
const INTERRUPTED = { annotations: { [OPERATION_ANNOTATION]: 'interrupt' } }
const LEAVING = { deletionTimestamp: '2030-01-01T00:00:00Z', finalizers: ['example.com/held'] }
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
    expect(await before(importer)).toEqual({ unfinished: ['db'], failed: [] })
    expect(await waitsOf()).toEqual(['db'])
  })

  it('reads only the journal about an exporter that has succeeded', async () => {
    const importer = put(app())
    await hear(importer, put(db({ status: ended('Succeeded') })))
    stage().api.requests.length = 0
    expect(await before(importer)).toEqual({ unfinished: [], failed: [] })
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
    expect(await before(importer)).toEqual({ unfinished: [], failed: [told] })
  })

  it('reads from the API server while the journal is behind, and from the journal the next time', async () => {
    const importer = put(app())
    await hear(importer, put(db({ status: running('Progressing') })))
    const now = put(db({ status: ended('Succeeded') }))
    expect(await before(importer)).toEqual({ unfinished: [], failed: [] })
    const again = put(db({ status: running('Init') }))
    await hear(now, again)
    stage().api.requests.length = 0
    expect(await before(importer)).toEqual({ unfinished: ['db'], failed: [] })
    expect(stage().api.requests).toEqual([])
  })

  it('ignores installations of other namespaces, deleted installations, and sub-installations', async () => {
    const parent = { apiVersion: API, kind: 'Installation', uid: 'uid-parent', name: 'parent', controller: true }
    const importer = put(app())
    const elsewhere = put(db({ namespace: 'm' }))
    const sub = put(db({ name: 'sub', metadata: { ownerReferences: [parent] } }))
    const gone = put(db({ name: 'gone' }))
    await hear(importer, elsewhere, sub, gone)
    const { deps } = stage()
    await sql`update object set deleted = true where name = 'gone'`.execute(deps.db)
    expect(await before(importer)).toEqual({ unfinished: [], failed: [] })
    await end(elsewhere)
    expect(operationOf('app')).toBeUndefined()
  })

  it('waits for no exporter when it declares hasNoSiblingImports, and no exporter waits for it', async () => {
    const importer = put(app({ optimization: { hasNoSiblingImports: true } }))
    const exporter = put(db({ status: running('Progressing') }))
    await hear(importer, exporter)
    expect(await before(importer)).toEqual({ unfinished: [], failed: [] })
    expect(await after(exporter)).toEqual({ unfinished: [], failed: [] })
  })

  it('fails with ImportRing when it is part of an import cycle, and ignores cycles of other roots', async () => {
    const a = put({ name: 'a', imports: ['z'], exports: ['x'] })
    const b = put({ name: 'b', imports: ['x'], exports: ['y'] })
    const c = put({ name: 'c', imports: ['y'], exports: ['z', 'out'] })
    const outside = put({ name: 'outside', imports: ['out'], exports: ['own'] })
    await hear(a, b, c, outside)
    await expect(before(b)).rejects.toMatchObject({
      type: 'ImportRing',
      message: expect.stringContaining('b -> a -> c -> b') as string,
    })
    expect(await before(outside)).toEqual({ unfinished: [], failed: ['c has never run'] })
  })

  it('may import its own export', async () => {
    const own = put({ name: 'own', imports: ['x'], exports: ['x'] })
    await hear(own)
    expect(await before(own)).toEqual({ unfinished: [], failed: [] })
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
    expect(await after(a)).toEqual({ unfinished: [], failed: [] })
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
  ])('requests no reconcile of an importer that %s', async (_, more, operation) => {
    const exporter = put(db())
    await hear(exporter, put(app(more)))
    await end(exporter)
    expect(operationOf('app')).toBe(operation)
  })

  it('requests a reconcile of an importer with a leftover interrupt annotation', async () => {
    const exporter = put(db())
    await hear(exporter, put(app({ metadata: INTERRUPTED })))
    await end(exporter)
    expect(operationOf('app')).toBe('reconcile')
  })

  it('is not delayed by an importer that the API server refuses to update, and emits an Event', async () => {
    const exporter = put(db())
    await hear(exporter, put(app()), put(app({ name: 'next' })))
    stage().api.intercept = ({ method, path }) =>
      method === 'PATCH' && path.endsWith('/app')
        ? { status: 403, body: { kind: 'Status', reason: 'Forbidden', message: 'not you' } }
        : undefined
    await end(exporter)
    expect(operationOf('next')).toBe('reconcile')
    expect(stage().api.requests.filter((request) => request.startsWith('POST'))).toEqual(['POST n/events'])
  })

  it('fails with an error while the API server is unavailable', async () => {
    const exporter = put(db())
    await hear(exporter, put(app()))
    stage().api.intercept = ({ method }) =>
      method === 'PATCH'
        ? { status: 503, body: { kind: 'Status', reason: 'ServiceUnavailable', message: 'away' } }
        : undefined
    await expect(end(exporter)).rejects.toThrow()
  })
})

describe('a root installation among 1,000 roots without common data', () => {
  it('runs one query on the journal, which uses an index and finds no predecessors', async () => {
    const many = Array.from({ length: 1000 }, (_, index) =>
      put({ name: `root-${index}`, imports: [`in-${index}`], exports: [`out-${index}`], status: ended('Succeeded') }),
    )
    await hear(...many)
    const { deps, api } = stage()
    await sql`analyze object`.execute(deps.db)
    const [one] = many
    if (one === undefined) throw new Error('none was made')
    const statements: string[] = []
    const counted = deps.db.withPlugin({
      transformQuery: ({ node }) => {
        statements.push(node.kind)
        return node
      },
      transformResult: ({ result }) => Promise.resolve(result),
    })
    api.requests.length = 0
    expect(await predecessorsOf({ ...deps, db: counted }, onlooker(one), storedAs(installationKind, one))).toEqual({
      unfinished: [],
      failed: [],
    })
    expect([statements.length, api.requests]).toEqual([1, []])
    const { rows } = await sql<{ 'QUERY PLAN': string }>`
      explain select o.uid from object o where o.cluster = 'local' and o.api_group = 'landscaper.gardener.cloud' and o.kind = 'Installation'
        and o.namespace = 'n' and not o.deleted and o.projection ? 'flow' and o.projection #> '{flow,gives}' ?| array['x']`.execute(
      deps.db,
    )
    expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('object_by_given')
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
    const parent = { apiVersion: API, kind: 'Installation', uid: 'uid-parent', name: 'parent', controller: true }
    const giver = put(db({ status: left('leaving', 'interrupted', 'sub', 'far', 'db') }))
    put(app({ name: 'leaving', metadata: LEAVING }))
    put(app({ name: 'interrupted', metadata: INTERRUPTED, status: running('Progressing') }))
    put(app({ name: 'sub', metadata: { ownerReferences: [parent] } }))
    put(app({ name: 'far', namespace: 'm' }))
    await hear(giver)
    await askLeft(giver)
    expect(['leaving', 'interrupted', 'sub', 'db'].map((name) => operationOf(name))).toEqual([
      ...[undefined, 'interrupt', undefined, undefined],
    ])
    expect([operationOf('far', 'm'), listOf('db')]).toEqual([undefined, undefined])
  })

  it('triggers no dependents when it has a parent', async () => {
    const parent = { apiVersion: API, kind: 'Installation', uid: 'uid-parent', name: 'parent', controller: true }
    const giver = put(db({ status: left('app'), metadata: { ownerReferences: [parent] } }))
    put(app())
    await hear(giver)
    await askLeft(giver)
    expect([operationOf('app'), listOf('db')]).toEqual([undefined, undefined])
  })
})
