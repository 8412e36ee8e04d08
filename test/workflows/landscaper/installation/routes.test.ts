// Tests which runs an event of a sub-installation starts or wakes, and which objects need a run. Source:
// docs/concepts/architecture.md "Subjects and routes"; spec/landscaper.md 2.2.

import { describe, expect, it } from 'vitest'
import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { installationKind } from '../../../../workflows/landscaper/installation/kind.ts'
import { installationRoutes, installationRun } from '../../../../workflows/landscaper/installation/routes.ts'
import { type Projection, type RoutedEvent, routeEvent } from '../../../../workflows/kit/index.ts'

const { apiVersion, group, kind } = installationKind
const OPERATION = 'landscaper.gardener.cloud/operation'
const parent = { apiVersion, kind, uid: 'parent', name: 'parent', controller: true }
const metadata = { finalizers: [FINALIZER], ownerReferences: [parent] }
const running = { jobID: 'job', jobIDFinished: 'before', phase: 'Progressing' }
const idle = { jobID: 'job', jobIDFinished: 'job', phase: 'Succeeded' }
const deletionTimestamp = '2026-01-01T00:00:00Z'

function routesOf(projection: Projection, previous?: Projection, type: RoutedEvent['type'] = 'MODIFIED') {
  const at = { uid: 'self', namespace: 'n', name: 'sub', resourceVersion: 2 }
  const routing = routeEvent([installationRoutes], { group, kind, ...at, type, projection, previous })
  if ('ignored' in routing) return routing.ignored
  return routing.routes.map(({ uid, mode, cause, dependentsOf }) => `${dependentsOf ?? uid} ${mode}: ${cause}`)
}

describe('a sub-installation', () => {
  it('starts its run if it gets a job', () => {
    expect(routesOf({ metadata, status: running }, { metadata, status: { jobIDFinished: 'before' } })).toEqual([
      'self start: unfinished job',
    ])
  })

  it('wakes only its parent when its job ends', () => {
    expect(routesOf({ metadata, status: idle }, { metadata, status: { ...idle, jobIDFinished: 'before' } })).toEqual([
      'parent notify: sub-installation sub finished',
    ])
  })

  it('starts nothing by an annotation or an edit', () => {
    const annotations = { [OPERATION]: 'reconcile', 'landscaper.gardener.cloud/reconcile-if-changed': 'true' }
    const asked = { metadata: { ...metadata, annotations, generation: 7 }, status: idle }
    expect(routesOf(asked, { metadata, status: idle })).toContain('the jobs of a sub-installation come from its parent')
    expect(installationRun(asked)).toEqual({ none: 'the jobs of a sub-installation come from its parent' })
  })

  it('that is being deleted waits for its parent, and gets its own job if the parent is gone', () => {
    const leaving = { metadata: { ...metadata, deletionTimestamp }, status: idle }
    expect(routesOf(leaving, { metadata, status: idle })).toEqual([
      'self start: deletion',
      'parent notify: sub-installation sub is being deleted',
    ])
    expect(installationRun(leaving, false)).toEqual({ none: 'deletion waits for the job ID of the parent' })
    expect(installationRun(leaving, true)).toEqual({ jobID: undefined, cause: 'deletion without parent' })
    const failed = { ...leaving, status: { ...idle, phase: 'DeleteFailed' } }
    expect(installationRun(failed, true)).toEqual({ none: 'deletion failed' })
    const again = { ...failed, metadata: { ...failed.metadata, annotations: { [OPERATION]: 'reconcile' } } }
    expect(installationRun(again, true)).toEqual({ jobID: undefined, cause: 'reconcile annotation' })
    expect(installationRun(again, false)).toEqual({ none: 'deletion waits for the job ID of the parent' })
  })

  it('wakes its parent and its own sub-installations when it is deleted', () => {
    const known = { metadata, status: idle }
    expect(routesOf(known, known, 'DELETED')).toEqual([
      'self notify: deleted',
      'parent notify: sub-installation sub gone',
      'self start: parent gone',
    ])
  })

  it('wakes its previous parent if a user removes it from the parent', () => {
    const taken = { metadata: { ...metadata, ownerReferences: [] }, status: running }
    expect(routesOf(taken, { metadata, status: running })).toContain(
      'parent notify: sub-installation sub has another owner',
    )
  })
})

describe('a root with dependents that Landscaper has not triggered', () => {
  const left = { ...idle, dependentsToTrigger: [{ name: 'app' }] }

  it('needs a run without a job', () => {
    const jobless = { jobID: undefined, cause: 'dependents left to start', isJobless: true }
    expect(installationRun({ metadata: {}, status: left })).toEqual(jobless)
    expect(routesOf({ metadata: {}, status: left })).toEqual(['self start: dependents left to start'])
  })

  it('needs it also under an interrupt of an earlier job', () => {
    const metadata = { annotations: { [OPERATION]: 'interrupt' } }
    expect(installationRun({ metadata, status: left })).toMatchObject({ isJobless: true })
  })

  it.each([
    ['an empty list', { metadata: {}, status: { ...idle, dependentsToTrigger: [] } }],
    ['no list', { metadata: {}, status: { ...idle, dependentsToTrigger: 'app' } }],
    ['another operation', { metadata: { annotations: { [OPERATION]: 'test' } }, status: left }],
    ['a hand off it', { metadata: { annotations: { 'landscaper.gardener.cloud/ignore': 'true' } }, status: left }],
    ['a parent', { metadata, status: left }],
  ])('asks for none with %s', (_, object) => {
    expect(installationRun(object)).toHaveProperty('none')
  })

  it('starts its own job if one is requested', () => {
    const annotations = { [OPERATION]: 'reconcile' }
    expect(installationRun({ metadata: { annotations }, status: left })).not.toHaveProperty('isJobless')
  })
})
