// The events that start or notify the run of an item without a host. Source: docs/concepts/architecture.md "Subjects and routes".

import { describe, expect, it } from 'vitest'

import { deployer as mockDeployer } from '../../../../activities/landscaper/deploy/mock/deployer.ts'
import { FINALIZER } from '../../../../workflows/landscaper/contract.ts'
import { deployItemKind } from '../../../../workflows/landscaper/deploy-item/kind.ts'
import { deployItemRun, deployRoutes } from '../../../../workflows/landscaper/deploy-item/routes.ts'
import { executionKind } from '../../../../workflows/landscaper/execution/kind.ts'
import { type Projection, type RoutedEvent, routeEvent, requestedRunOf } from '../../../../workflows/kit/index.ts'

const running = { jobID: 'job', jobIDFinished: 'before', phase: 'Progressing' }
const idle = { jobID: 'job', jobIDFinished: 'job', phase: 'Succeeded' }
const guarded = { finalizers: [FINALIZER] }
const deleted = { ...guarded, deletionTimestamp: '2030-01-01T00:00:00Z' }
const { apiVersion } = executionKind
const owned = { ownerReferences: [{ apiVersion, kind: 'Execution', uid: 'exec', name: 'exec', controller: true }] }
const spec = { type: mockDeployer.type }
const theirs = { type: 'example.com/theirs' }

const asked = (projection: Projection, { kind = deployItemKind.kind, ...overrides }: Partial<RoutedEvent> = {}) => {
  const at = { uid: 'self', namespace: 'n', name: 'name', resourceVersion: 2 }
  const event = { group: 'landscaper.gardener.cloud', ...at, type: 'MODIFIED' as const, projection }
  const routing = routeEvent([deployRoutes], { ...event, kind, previous: undefined, ...overrides })
  return 'ignored' in routing
    ? routing.ignored
    : routing.routes.map(({ mode, uid, dependentsOf, cause }) => `${mode} ${dependentsOf ?? uid}: ${cause}`)
}

describe('an event of an item', () => {
  it('starts a run if the item has a job, is being deleted, or has neither finalizer nor owner', () => {
    expect(asked({ spec, status: running })).toEqual(['start self: job ID in its status'])
    expect(asked({ spec, metadata: { ...owned, ...guarded }, status: running })).toHaveLength(1)
    expect(asked({ spec, metadata: deleted, status: idle })).toEqual(['start self: deletion'])
    expect(asked({ spec })).toEqual(['start self: first seen'])
  })

  it('notifies the run if the item is deleted', () => {
    expect(asked({ spec, status: running }, { type: 'DELETED' })).toEqual(['notify self: deleted'])
  })

  it('starts no run of an idle item, and only the deletion of an item with a foreign type', () => {
    expect(asked({ spec, metadata: guarded, status: idle })).toBe('deploy item is idle')
    expect(asked({ spec, metadata: owned })).toBe('deploy item is idle')
    expect(asked({ spec: theirs })).toBe('deploy item is idle')
    expect(asked({ spec: theirs, status: running })).toBe('deploy item is of a type that another deployer serves')
    expect(asked({ spec: theirs, metadata: deleted })).toEqual(['start self: deletion'])
  })
})

describe('an invalid job ID in the status of an item', () => {
  const status = { ...idle, jobID: 'no/job ID' }

  it('wakes the item once, without a job, if Pawl deploys the item', () => {
    expect(asked({ spec, metadata: guarded, status })).toEqual(['start self: status.jobID is invalid'])
    expect(asked({ spec, metadata: guarded, status }, { previous: { status } })).toMatch(/^status.jobID is invalid;/)
    expect(asked({ spec: theirs, metadata: guarded, status })).toMatch(/^status.jobID is invalid;/)
    expect(deployItemRun({ spec, metadata: guarded, status }, true)).toEqual({ none: 'deploy item is idle' })
  })
})

describe('an event of an execution', () => {
  const kind = executionKind.kind

  it('starts the runs of its items if the execution is gone or has another job', () => {
    expect(asked({ status: running }, { kind, type: 'DELETED' })).toEqual(['start self: execution gone'])
    const other = { status: { ...running, jobID: 'other' } }
    expect(asked(other, { kind, previous: { status: running } })).toEqual(['start self: execution has another job'])
  })

  it('starts no run of its items if its job continues, ends, or follows a finished job', () => {
    const waits = 'deploy items wait for the end of their execution only'
    const next = { ...idle, jobID: 'next' }
    for (const [before, after] of [
      [running, { ...running, phase: 'Completing' }],
      [running, idle],
      [idle, next],
    ])
      expect(asked({ status: after }, { kind, previous: { status: before } })).toBe(waits)
  })
})

describe('an item', () => {
  const own = { jobID: 'job', cause: 'job ID in its status' }

  it('requests no run while its owner has the same job', () => {
    expect(deployItemRun({ spec, status: running }, false, 'job')).toEqual({ none: 'its execution hosts it' })
  })

  it('requests its own run if its owner has another job, has no job, or is gone', () => {
    expect(deployItemRun({ spec, status: running }, false, 'other')).toEqual(own)
    expect(deployItemRun({ spec, status: running }, false)).toEqual(own)
    expect(deployItemRun({ spec, status: running }, true)).toEqual(own)
  })

  it('makes no decision about a run while the job of its owner is unknown', () => {
    expect(requestedRunOf(deployItemRun, { spec, status: running }, 'unknown')).toBeUndefined()
    expect(requestedRunOf(deployItemRun, { spec, metadata: guarded, status: idle }, 'unknown')).toHaveProperty('none')
  })

  it('requests no run if another deployer serves its type', () => {
    expect(deployItemRun({ spec: theirs, status: running }, true)).toHaveProperty('none')
    expect(deployItemRun({ spec: theirs }, true)).toHaveProperty('none')
  })

  it('requests its deletion if its owner is gone, for any type, but not again after a failed deletion', () => {
    const left = { ...deleted, ...owned }
    const waits = { none: 'deletion waits for the job ID of the execution' }
    expect(deployItemRun({ spec, metadata: left, status: idle }, false, 'next')).toEqual(waits)
    const wanted = { jobID: undefined, cause: 'deletion without owner' }
    expect(deployItemRun({ spec, metadata: left, status: idle }, true)).toEqual(wanted)
    expect(deployItemRun({ spec: theirs, metadata: left }, true)).toEqual(wanted)
    const failed = { ...idle, phase: 'DeleteFailed' }
    expect(deployItemRun({ spec, metadata: left, status: failed }, true)).toEqual({ none: 'deletion failed' })
  })

  it('requests its deletion if it is an orphan, because its Execution was deleted with --cascade=orphan', () => {
    const labels = { 'execution.landscaper.gardener.cloud/managed-by': 'shop' }
    const wanted = { jobID: undefined, cause: 'deletion of an orphan' }
    expect(deployItemRun({ spec, metadata: { ...deleted, labels }, status: idle }, true)).toEqual(wanted)
    expect(deployItemRun({ spec: theirs, metadata: { ...deleted, labels }, status: idle }, true)).toEqual(wanted)
  })

  it('waits with its deletion for a job ID and warns if it never had an owner, unless no job has touched it', () => {
    const waits = { none: 'deletion waits for a job ID', warning: { reason: 'DeletionWaitsForJobID' } }
    expect(deployItemRun({ spec, metadata: deleted, status: idle }, true)).toMatchObject(waits)
    expect(deployItemRun({ spec: theirs, metadata: deleted, status: { phase: 'Failed' } }, true)).toMatchObject(waits)
    expect(deployItemRun({ spec, metadata: deleted, status: { ...idle, jobID: 'next' } }, true)).toMatchObject({
      jobID: 'next',
    })
    const goes = { jobID: undefined, cause: 'deletion of what no job has touched' }
    expect(deployItemRun({ spec, metadata: deleted }, true)).toEqual(goes)
    expect(deployItemRun({ spec, metadata: deleted, status: { jobID: '', phase: '' } }, true)).toEqual(goes)
  })

  it('requests a run that adds the finalizer if it has neither a finalizer nor an execution', () => {
    const seen = { jobID: undefined, cause: 'first seen' }
    expect(deployItemRun({ spec }, true)).toEqual(seen)
    expect(deployItemRun({ spec, metadata: { finalizers: ['theirs'] }, status: idle }, true)).toEqual(seen)
    expect(deployItemRun({ spec, metadata: owned }, true)).toHaveProperty('none')
    expect(deployItemRun({ spec, metadata: guarded }, true)).toHaveProperty('none')
  })
})
