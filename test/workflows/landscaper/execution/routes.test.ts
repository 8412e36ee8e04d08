// The events that route to an Execution and its Installation. Source: docs/concepts/architecture.md "Subjects and routes".

import { describe, expect, it } from 'vitest'

import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { executionKind } from '../../../../workflows/landscaper/execution/kind.ts'
import { executionRoutes, executionRun } from '../../../../workflows/landscaper/execution/routes.ts'
import { installationRoutes, installationRun } from '../../../../workflows/landscaper/installation/routes.ts'
import { type Projection, type RoutedEvent, routeEvent } from '../../../../workflows/kit/index.ts'

const OPERATION = 'landscaper.gardener.cloud/operation'
const { apiVersion, group } = executionKind
const owner = (kind: string) => ({
  finalizers: [FINALIZER],
  ownerReferences: [{ apiVersion, kind, uid: 'parent', name: 'parent', controller: true }],
})
const running = { jobID: 'job', jobIDFinished: 'before', phase: 'Progressing' }
const idle = { jobID: 'job', jobIDFinished: 'job', phase: 'Succeeded' }

function event(kind: string, projection: Projection, previous?: Projection): RoutedEvent {
  const at = { uid: 'self', namespace: 'n', name: 'name', resourceVersion: 2 }
  return { group, kind, ...at, type: 'MODIFIED', projection, previous }
}

const asked = (routed: RoutedEvent) => {
  const routing = routeEvent([installationRoutes, executionRoutes], routed)
  return 'ignored' in routing
    ? routing.ignored
    : routing.routes.map(({ controller, cause }) => `${controller}: ${cause}`)
}

describe('an interrupt', () => {
  const annotated = (status: object) => ({
    metadata: { finalizers: [FINALIZER], annotations: { [OPERATION]: 'interrupt' } },
    status,
  })

  it('wakes the run of the annotated object', () => {
    const routed = ['Installation', 'Execution'].map((kind) =>
      asked(event(kind, annotated(running), { status: running })),
    )
    expect(routed).toEqual([['installation: unfinished job'], ['execution: job ID in its status']])
  })

  it('starts no run of an idle object', () => {
    const routed = ['Installation', 'Execution'].map((kind) => asked(event(kind, annotated(idle), { status: idle })))
    expect(routed[0]).toContain('installation is idle and not triggered')
    expect(routed[1]).toContain('execution is idle')
  })
})

describe('a change of the job ID of a child', () => {
  const child = (kind: string, status: object) => ({ metadata: owner(kind), status })

  it.each([['other'], ['no job ID'], [undefined]])('wakes the parent if a running child gets job ID %j', (jobID) => {
    const taken = { ...running, jobID }
    const execution = asked(event('Execution', child('Installation', taken), child('Installation', running)))
    expect(execution).toContain('installation: execution has another job')
    const item = asked(event('DeployItem', child('Execution', taken), child('Execution', running)))
    expect(item).toEqual(['execution: deploy item name has another job'])
  })

  it('does not wake the parent if the child had finished its job', () => {
    const next = { ...idle, jobID: 'next' }
    const execution = asked(event('Execution', child('Installation', next), child('Installation', idle)))
    expect(execution).toEqual(['execution: job ID in its status'])
    const item = asked(event('DeployItem', child('Execution', next), child('Execution', idle)))
    expect(item).toBe('deploy item is unfinished')
  })
})

describe('the run of an Execution', () => {
  const other = { jobID: 'other', jobIDFinished: 'before', phase: 'Progressing' }
  const begun = { jobID: 'job', cause: 'job ID in its status' }

  it('is not requested while its Installation has the same job, because the Installation hosts the Execution', () => {
    expect(executionRun({ status: running }, false, 'job')).toEqual({ none: 'its installation hosts it' })
  })

  it('is requested if the Execution has another job, or if its Installation has no job or is gone', () => {
    expect(executionRun({ status: other }, false, 'job')).toEqual({ ...begun, jobID: 'other' })
    expect(executionRun({ status: running }, false)).toEqual(begun)
    expect(executionRun({ status: running }, true)).toEqual(begun)
  })

  it('is not requested after the end of the job, and for a deletion only if the Installation is gone', () => {
    const child = { metadata: owner('Installation'), status: idle }
    expect(executionRun(child, false, 'job')).toEqual({ none: 'execution is idle' })
    const deleted = { metadata: { deletionTimestamp: '2030-01-01T00:00:00Z' }, status: idle }
    const waits = { none: 'deletion waits for the job ID of the installation' }
    expect(executionRun(deleted, false, 'next')).toEqual(waits)
    const left = { metadata: { ...owner('Installation'), ...deleted.metadata }, status: idle }
    expect(executionRun(left, true)).toEqual({ jobID: undefined, cause: 'deletion without owner' })
  })

  it('is requested for the deletion of an orphan, whose Installation was deleted with --cascade=orphan', () => {
    const annotations = { 'landscaper.gardener.cloud/pawl-rendered-from': '1' }
    const metadata = { finalizers: [FINALIZER], deletionTimestamp: '2030-01-01T00:00:00Z', annotations }
    const wanted = { jobID: undefined, cause: 'deletion of an orphan' }
    expect(executionRun({ metadata, status: idle }, true)).toEqual(wanted)
    expect(executionRun({ metadata, status: { ...idle, phase: 'DeleteFailed' } }, true)).toHaveProperty('none')
  })

  it('waits for a job ID in a deletion without an owner, unless no job has touched the Execution', () => {
    const metadata = { finalizers: [FINALIZER], deletionTimestamp: '2030-01-01T00:00:00Z' }
    expect(executionRun({ metadata, status: idle }, true)).toMatchObject({ none: 'deletion waits for a job ID' })
    expect(executionRun({ metadata, status: { ...idle, jobID: 'next' } }, true)).toMatchObject({ jobID: 'next' })
    expect(executionRun({ metadata }, true)).toMatchObject({ cause: 'deletion of what no job has touched' })
  })
})

describe('an Execution that is seen for the first time', () => {
  const seen = { jobID: undefined, cause: 'first seen' }

  it('requests a run that adds the finalizer, with or without a previous job', () => {
    expect(asked(event('Execution', {}))).toEqual(['execution: first seen'])
    expect(executionRun({}, true)).toEqual(seen)
    expect(executionRun({ metadata: { finalizers: ['theirs'] }, status: idle }, true)).toEqual(seen)
  })

  it.each([
    ['it has the finalizer', { finalizers: ['theirs', FINALIZER] }],
    ['it has an Installation', { ...owner('Installation'), finalizers: [] }],
    ['it is being deleted', { deletionTimestamp: '2030-01-01T00:00:00Z' }],
  ])('requests no run if %s', (_, metadata) => {
    expect(executionRun({ metadata }, false)).toHaveProperty('none')
    expect(asked(event('Execution', { metadata }))).not.toContain('execution: first seen')
  })
})

describe('an invalid status.jobID', () => {
  const junk = { jobID: 'no/job ID', jobIDFinished: 'job', phase: 'Progressing' }
  const reason = 'status.jobID is invalid'

  it('starts no job, and wakes the object once', () => {
    const guarded = { metadata: { finalizers: [FINALIZER] }, status: junk }
    expect(executionRun(guarded, true)).toEqual({ none: 'execution is idle' })
    expect(installationRun(guarded)).toEqual({ none: 'installation is idle and not triggered' })
    for (const kind of ['Execution', 'Installation'] as const) {
      expect(asked(event(kind, guarded))).toEqual([`${kind.toLowerCase()}: ${reason}`])
      // Ignored, and the journal says why.
      expect(asked(event(kind, guarded, guarded))).toMatch(`${reason}; expected`)
    }
  })

  it('does not prevent a reconcile annotation or a deletion from starting a job', () => {
    const request = { metadata: { annotations: { [OPERATION]: 'reconcile' } }, status: junk }
    expect(installationRun(request)).toEqual({ jobID: undefined, cause: 'reconcile annotation' })
    const deletion = { metadata: { ...owner('Installation'), deletionTimestamp: '2030-01-01T00:00:00Z' }, status: junk }
    expect(executionRun(deletion, true)).toEqual({ jobID: undefined, cause: 'deletion without owner' })
  })
})
