// Dependencies between the roots of a namespace: the roots for which one waits, the roots that must be deleted before it, and the roots that its end
// starts. Source: spec/landscaper.md 2.2 trigger 5, 2.3 "Init" 3, 2.4, 2.6.

import { sql } from 'kysely'
import { describe, expect, inject, it } from 'vitest'
import { predecessorsOf } from '../../activities/landscaper/installation/siblings.ts'
import { storedAs } from '../../activities/kube/object-views.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { refusal } from '../activities/kube/tiny-api.ts'
import { API } from '../support/cluster/cluster.ts'
import {
  ASKED,
  INTERRUPTED,
  LEAVING,
  NONE,
  PARENT,
  WAITS,
  app,
  db,
  ended,
  failing,
  onlooker,
  running,
  useSiblings,
} from './sibling-stage.ts'

const { stage, put, hear, before, after, end, askLeft, counted, waitsOf, operationOf } = useSiblings(
  inject('servers').databaseUrl,
)

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
