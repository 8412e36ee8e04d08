// Dependencies between the sub-installations of a parent: the siblings for which one waits, and the siblings that must be deleted before it. Source:
// spec/landscaper.md 2.3 "Init" 3, 2.4.

import { describe, expect, inject, it } from 'vitest'
import { predecessorsOf } from '../../activities/landscaper/installation/siblings.ts'
import { storedAs } from '../../activities/kube/object-views.ts'
import { installationKind } from '../../workflows/landscaper/installation/kind.ts'
import {
  DELETED,
  JOB,
  LEAVING,
  NONE,
  PARENT,
  type Root,
  WAITS,
  app,
  db,
  failing,
  onlooker,
  useSiblings,
} from './sibling-stage.ts'

const { stage, put, before, after, counted, waitsOf } = useSiblings(inject('servers').databaseUrl)

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
