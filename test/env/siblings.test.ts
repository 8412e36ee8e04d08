// For which siblings a sub-installation waits: on a server that the test controls, with a real journal. Source: spec/landscaper.md 2.3
// "Init" 3, 2.4, 2.6.

import { sql } from 'kysely'
import { describe, expect, inject, it } from 'vitest'
import { predecessorsOf, successorsOf } from '../../activities/landscaper/installation/siblings.ts'
import type { KubeObject } from '../../activities/kube/client.ts'
import { storedAs } from '../../activities/kube/object-views.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import { useWriteStage } from '../activities/kube/write-stage.ts'
import { API } from '../support/cluster/cluster.ts'

const ROOT = `/apis/${API}/namespaces/n/installations`
const JOB = 'job'
const LEAVING = { deletionTimestamp: '2030-01-01T00:00:00Z', finalizers: ['example.com/held'] }
const PARENT = { apiVersion: API, kind: 'Installation', uid: 'uid-parent', name: 'parent', controller: true }

const stage = useWriteStage(inject('servers').databaseUrl)

interface Sibling {
  readonly name: string
  readonly status?: object
  readonly metadata?: object
  readonly imports?: readonly string[]
  readonly exports?: readonly string[]
}

function put({ name, status = {}, metadata = {}, imports = [], exports = [] }: Sibling): KubeObject {
  const spec = {
    imports: { data: imports.map((one) => ({ name: one, dataRef: one })) },
    exports: { data: exports.map((one) => ({ name: one, dataRef: one })) },
    blueprint: {},
  }
  const labels = { 'landscaper.gardener.cloud/encompassed-by': 'parent' }
  const own = { name, namespace: 'n', uid: `uid-${name}`, generation: 1, labels, ownerReferences: [PARENT] }
  const object = { apiVersion: API, kind: 'Installation', metadata: { ...own, ...metadata }, spec, status }
  return stage().api.put(`${ROOT}/${name}`, object)
}

const parent = (metadata: object = {}) =>
  stage().api.put(`${ROOT}/parent`, {
    apiVersion: API,
    kind: 'Installation',
    spec: { blueprint: {} },
    metadata: { name: 'parent', namespace: 'n', uid: 'uid-parent', generation: 1, ...metadata },
  })

const onlooker = (name: string) => ({
  by: { workflowID: `installation/n/${name}/uid-${name}/${JOB}`, runID: 'run', pass: 1 },
  subject: { kind: 'Installation', uid: `uid-${name}`, namespace: 'n', name },
  jobID: JOB,
})

/** Whom `app` waits for, which imports `address`. */
async function before(...others: readonly Sibling[]) {
  const app = put({ name: 'app', imports: ['address'], status: { jobID: JOB, phase: 'Init' } })
  for (const one of others) put(one)
  return await predecessorsOf(stage().deps, onlooker('app'), storedAs(installationKind, app))
}

/** Whom `db` waits for in its deletion, which exports `address`. */
async function after(...others: readonly Sibling[]) {
  const db = put({ name: 'db', exports: ['address'], metadata: LEAVING, status: { jobID: JOB, phase: 'InitDelete' } })
  for (const one of others) put(one)
  return await successorsOf(stage().deps, onlooker('db'), storedAs(installationKind, db))
}

const db = (more: Partial<Sibling>): Sibling => ({ name: 'db', exports: ['address'], ...more })
const app = (more: Partial<Sibling>): Sibling => ({ name: 'app', imports: ['address'], ...more })
const ended = (phase: string) => ({ jobID: JOB, jobIDFinished: JOB, phase })
const running = (phase: string) => ({ jobID: JOB, jobIDFinished: 'before', phase })
const earlier = (phase: string) => ({ jobID: 'before', jobIDFinished: 'before', phase })

describe('a sub-installation that imports from a sibling', () => {
  it.each([
    ['does not have the job yet', { status: earlier('Succeeded') }],
    ['has the job, and has not started it', { status: running('Succeeded') }],
    ['runs the job', { status: running('Progressing') }],
    ['runs the job while a user deletes it: the job ends first', { status: running('Progressing'), metadata: LEAVING }],
  ])('waits for a sibling that %s', async (_, more) => {
    parent()
    expect(await before(db(more))).toEqual({ unfinished: ['db'], failed: [] })
  })

  it('continues when the sibling has succeeded, and fails when the sibling has failed', async () => {
    parent()
    expect(await before(db({ status: ended('Succeeded') }))).toEqual({ unfinished: [], failed: [] })
    expect(await before(db({ status: ended('Failed') }))).toEqual({ unfinished: [], failed: ['db is Failed'] })
  })

  it.each([
    ['does not have the job', { status: earlier('Succeeded'), metadata: LEAVING }],
    ['has not started the job', { status: running('Succeeded'), metadata: LEAVING }],
    ['is uninstalled in the job', { status: running('InitDelete'), metadata: LEAVING }],
  ])('does not wait for a sibling under deletion that %s', async (_, more) => {
    parent()
    expect(await before(db(more))).toEqual({ unfinished: [], failed: ['db is being deleted'] })
  })

  it('does not wait until a sibling gets the job when their parent is gone', async () => {
    expect(await before(db({ status: earlier('Succeeded') }))).toEqual({
      unfinished: [],
      failed: ['db has no job, and its parent is gone'],
    })
    expect(await before(db({ status: running('Init') }))).toEqual({ unfinished: ['db'], failed: [] })
  })
})

describe('a sub-installation under deletion that exports to a sibling', () => {
  it('waits while the sibling is being deleted too, and fails when that deletion fails', async () => {
    parent(LEAVING)
    expect(await after(app({ metadata: LEAVING, status: earlier('Succeeded') }))).toMatchObject({ unfinished: ['app'] })
    expect(await after(app({ metadata: LEAVING, status: running('Deleting') }))).toMatchObject({ unfinished: ['app'] })
    const stuck = { metadata: LEAVING, status: ended('DeleteFailed') }
    expect(await after(app(stuck))).toEqual({ unfinished: [], failed: ['app is DeleteFailed'] })
  })

  it('does not wait for a sibling that is not being deleted, or that is deleted in a later job only', async () => {
    parent()
    expect(await after(app({ status: running('Init') }))).toEqual({ unfinished: [], failed: [] })
    const later = { metadata: LEAVING, status: ended('Failed') }
    expect(await after(app(later))).toEqual({ unfinished: [], failed: [] })
  })

  it('does not wait for a sibling when their parent is gone', async () => {
    const stuck = { metadata: LEAVING, status: { jobID: 'own', jobIDFinished: 'own', phase: 'DeleteFailed' } }
    expect(await after(app(stuck))).toEqual({ unfinished: [], failed: [] })
  })
})

describe('a sub-installation among many siblings', () => {
  const MANY = 200
  const wide = Array.from({ length: MANY }, (_, index) => ({ name: `sub-${index}`, exports: [`value-${index}`] }))

  it.each([
    ['imports nothing', {}],
    ['declares hasNoSiblingImports', { optimization: { hasNoSiblingImports: true } }],
  ])('reads no sibling when it %s', async (_, more) => {
    const imports = 'optimization' in more ? wide.flatMap((one) => one.exports) : []
    const { metadata, spec } = storedAs(installationKind, put({ name: 'alone', imports, status: running('Init') }))
    const { deps, api } = stage()
    api.requests.length = 0
    const alone = { metadata, spec: { ...spec, ...more } } as Parameters<typeof predecessorsOf>[2]
    expect(await predecessorsOf(deps, onlooker('alone'), alone)).toEqual({ unfinished: [], failed: [] })
    expect(api.requests).toEqual([])
  })

  it('subscribes to 200 siblings with one INSERT and at most three API requests', async () => {
    parent()
    const { deps, api } = stage()
    for (const one of wide) put({ ...one, status: running('Progressing') })
    const last = put({ name: 'last', imports: wide.flatMap((one) => one.exports), status: running('Init') })
    const statements: string[] = []
    const db = deps.db.withPlugin({
      transformQuery: ({ node }) => {
        statements.push(node.kind)
        return node
      },
      transformResult: ({ result }) => Promise.resolve(result),
    })
    api.requests.length = 0
    const { unfinished } = await predecessorsOf({ ...deps, db }, onlooker('last'), storedAs(installationKind, last))
    expect(unfinished).toHaveLength(11)
    expect(unfinished.at(-1)).toBe('and 190 more')
    expect(statements.filter((kind) => kind === 'InsertQueryNode')).toHaveLength(1)
    expect(api.requests.length).toBeLessThanOrEqual(3)
    const { rows } = await sql<{ count: number }>`select count(*)::int from subscription`.execute(deps.db)
    expect(rows).toEqual([{ count: MANY }])
  })
})
