// Whom a root waits for among the roots of its namespace, who has to go before it, and whom its end starts: on a server that the test drives, with a
// real journal. Source: spec/landscaper.md 2.2 trigger 5, 2.3 "Init" 3, 2.4, 2.6.

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

/** The object as the server has it. */
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

/** The journal hears of them; nobody is woken. */
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

describe('a root that imports from another', () => {
  it.each([
    ['runs a job', { status: running('Progressing') }],
    ['has a request before it', { status: ended('Succeeded'), metadata: ASKED }],
    ['was never run, and has a request', { metadata: ASKED }],
    ['runs while a hand deletes it: it ends first', { status: running('Progressing'), metadata: LEAVING }],
  ])('waits for one that %s', async (_, more) => {
    const importer = put(app())
    await hear(importer, put(db(more)))
    expect(await before(importer)).toEqual({ unfinished: ['db'], failed: [] })
    expect(await waitsOf()).toEqual(['db'])
  })

  it('asks nobody but the journal about one that has succeeded', async () => {
    const importer = put(app())
    await hear(importer, put(db({ status: ended('Succeeded') })))
    stage().api.requests.length = 0
    expect(await before(importer)).toEqual({ unfinished: [], failed: [] })
    expect([stage().api.requests, await waitsOf()]).toEqual([[], []])
  })

  it.each([
    ['failed', { status: ended('Failed') }, 'db is Failed'],
    ['never ran', {}, 'db has never run'],
    ['is about to go', { status: ended('Succeeded'), metadata: LEAVING }, 'db is being deleted'],
    ['goes', { status: running('InitDelete'), metadata: LEAVING }, 'db is being deleted'],
  ])('fails with one that %s', async (_, more, told) => {
    const importer = put(app())
    await hear(importer, put(db(more)))
    expect(await before(importer)).toEqual({ unfinished: [], failed: [told] })
  })

  it('looks at the server where the journal is behind, and the next time at the journal', async () => {
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

  it('does not see those of another namespace, those that have gone, and sub-installations', async () => {
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

  it('does not look where it says that it imports from none, and is nobody’s successor then', async () => {
    const importer = put(app({ optimization: { hasNoSiblingImports: true } }))
    const exporter = put(db({ status: running('Progressing') }))
    await hear(importer, exporter)
    expect(await before(importer)).toEqual({ unfinished: [], failed: [] })
    expect(await after(exporter)).toEqual({ unfinished: [], failed: [] })
  })

  it('is told of a ring that it is in, and of none that is elsewhere', async () => {
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

  it('may import what it exports itself', async () => {
    const own = put({ name: 'own', imports: ['x'], exports: ['x'] })
    await hear(own)
    expect(await before(own)).toEqual({ unfinished: [], failed: [] })
  })
})

describe('a root under deletion that exports to others', () => {
  it('waits for all of them, whatever they do', async () => {
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

  it('waits for none that goes too and is in a ring with it', async () => {
    const a = put({ name: 'a', imports: ['y'], exports: ['x'], metadata: LEAVING })
    const b = put({ name: 'b', imports: ['x'], exports: ['y'] })
    await hear(a, b)
    expect(await after(a)).toEqual({ unfinished: ['b'], failed: [] })
    await hear(put({ name: 'b', imports: ['x'], exports: ['y'], metadata: LEAVING }))
    expect(await after(a)).toEqual({ unfinished: [], failed: [] })
  })
})

describe('the end of a root', () => {
  it('asks those that import from it, and again only where they have taken it up', async () => {
    const exporter = put(db())
    await hear(exporter, put(app()), put(app({ name: 'other', imports: ['else'] })))
    await end(exporter)
    expect([operationOf('app'), operationOf('other')]).toEqual(['reconcile', undefined])
    // The journal has not heard that it was taken up.
    put(app({ status: running('Init') }))
    await end(exporter)
    expect(operationOf('app')).toBe('reconcile')
  })

  it.each([
    ['goes', { metadata: LEAVING }, undefined],
    ['is to be interrupted', { metadata: INTERRUPTED, status: running('Progressing') }, 'interrupt'],
  ])('leaves one alone that %s', async (_, more, operation) => {
    const exporter = put(db())
    await hear(exporter, put(app(more)))
    await end(exporter)
    expect(operationOf('app')).toBe(operation)
  })

  it('asks one on which an interrupt was left', async () => {
    const exporter = put(db())
    await hear(exporter, put(app({ metadata: INTERRUPTED })))
    await end(exporter)
    expect(operationOf('app')).toBe('reconcile')
  })

  it('is not held up by one that may not be written', async () => {
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

  it('waits for a server that is away', async () => {
    const exporter = put(db())
    await hear(exporter, put(app()))
    stage().api.intercept = ({ method }) =>
      method === 'PATCH'
        ? { status: 503, body: { kind: 'Status', reason: 'ServiceUnavailable', message: 'away' } }
        : undefined
    await expect(end(exporter)).rejects.toThrow()
  })
})

describe('a root among a thousand that share nothing', () => {
  it('asks the journal once, which finds nobody without reading them', async () => {
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

describe('a root whose dependents the original has left to be asked', () => {
  const left = (...names: readonly string[]) => ({
    ...ended('Succeeded'),
    dependentsToTrigger: names.map((name) => ({ name })),
  })
  const listOf = (name: string) => {
    const status = stage().api.objects.get(`/apis/${API}/namespaces/n/installations/${name}`)?.['status']
    return (status as Readonly<Record<string, unknown>>)['dependentsToTrigger']
  }

  it('asks those, and empties the list', async () => {
    const giver = put(db({ status: left('app', 'gone', 'app', '..', 'app/status') }))
    put(app())
    await hear(giver)
    const view = await askLeft(giver)
    expect(view).toMatchObject({ jobID: 'own' })
    expect(view).not.toHaveProperty('hasLeftDependents')
    expect([operationOf('app'), listOf('db')]).toEqual(['reconcile', undefined])
    expect(await askLeft(giver)).toMatchObject({ jobID: 'own' })
  })

  it('asks none that goes, that has another operation on it, that has a parent, or that is of another namespace', async () => {
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

  it('that has a parent asks nobody', async () => {
    const parent = { apiVersion: API, kind: 'Installation', uid: 'uid-parent', name: 'parent', controller: true }
    const giver = put(db({ status: left('app'), metadata: { ownerReferences: [parent] } }))
    put(app())
    await hear(giver)
    await askLeft(giver)
    expect([operationOf('app'), listOf('db')]).toEqual([undefined, undefined])
  })
})
