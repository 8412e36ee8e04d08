// Tests a parent's writes to a child that has changed since the pass observed it.

import { describe, expect, it } from 'vitest'

import type { KubeObject } from '../../../activities/kube/client.ts'
import type { Write } from '../../../activities/kube/write.ts'
import type { WatchedKind } from '../../../workflows/kit/index.ts'
import {
  addRequest,
  assignJob,
  isRunning,
  removeFinalizer,
  deleteChild,
  removeRequest,
} from '../../../activities/run/children.ts'

const watched: WatchedKind = { apiVersion: 'example.com/v1', kind: 'Part', plural: 'parts', projection: [], hashed: [] }
const PART = { watched, namespace: 'n', name: 'p', uid: 'uid-p', version: '7' }
const STOP = { annotation: 'example.com/do', value: 'stop' }

const part = (status: object = {}, metadata: object = {}): KubeObject => ({
  metadata: { name: 'p', namespace: 'n', uid: 'uid-p', resourceVersion: '9', ...metadata },
  status,
})

const OTHER = part({}, { uid: 'uid-other' })
const asked = (value: string) => part({}, { annotations: { [STOP.annotation]: value } })

/** What the write becomes when it meets the object. */
function met(write: Write, current: KubeObject): unknown {
  if (!('reapply' in write)) throw new Error(`${write.verb} is not applied again`)
  return write.reapply(current)
}

describe('a job that a parent assigns to a child', () => {
  const before = { jobID: 'one', jobIDFinished: 'one' }
  const write = assignJob({ ...PART, jobID: 'one' }, 'two', { since: 'now', jobID: 'never' })
  const patch = { status: { since: 'now', jobID: 'two' } }

  it('is one status patch on the observed resource version, with the fields of the wing', () => {
    expect(write).toMatchObject({ verb: 'patchStatus', version: '7', name: 'p', patch })
  })

  it('is assigned when the child is still idle after the observed job', () => {
    expect(met(write, part(before))).toEqual(patch)
  })

  it('needs no write when the child already has it', () => {
    expect(met(write, part({ jobID: 'two' }))).toBe('done')
    expect(met(write, part({ jobID: 'two', jobIDFinished: 'two' }))).toBe('done')
  })

  it.each([
    ['has another UID', OTHER],
    ['runs the job before again', part({ jobID: 'one', jobIDFinished: 'zero' })],
    ['runs another job', part({ jobID: 'three', jobIDFinished: 'one' })],
    ['has run another job meanwhile', part({ jobID: 'three', jobIDFinished: 'three' })],
  ])('is not assigned to a child that %s', (_, current) => {
    expect(met(write, current)).toBe('superseded')
  })
})

describe('a request', () => {
  const isMeant = (current: KubeObject) => isRunning(current, 'one')
  const running = (object: KubeObject) => ({ ...object, status: { jobID: 'one' } })

  it('is added once, and only while it is meant for the object', () => {
    const write = addRequest(PART, STOP, isMeant)
    const patch = { metadata: { annotations: { [STOP.annotation]: 'stop' } } }
    expect(write).toMatchObject({ verb: 'patch', version: '7', patch })
    expect(met(write, running(part()))).toEqual(patch)
    expect(met(write, running(asked('stop')))).toBe('done')
    expect(met(write, part({ jobID: 'one', jobIDFinished: 'one' }))).toBe('superseded')
    expect(met(write, running(OTHER))).toBe('superseded')
  })

  it('is removed only while it is meant for the object, and another request stays', () => {
    const write = removeRequest(PART, STOP, isMeant)
    const patch = { metadata: { annotations: { [STOP.annotation]: null } } }
    expect(write).toMatchObject({ verb: 'patch', version: '7', patch })
    expect(met(write, running(asked('stop')))).toEqual(patch)
    expect(met(write, running(asked('start')))).toBe('done')
    expect(met(write, running(part()))).toBe('done')
    expect(met(write, asked('stop'))).toBe('superseded')
    expect(met(write, running(OTHER))).toBe('superseded')
  })
})

describe('a child that its parent releases', () => {
  it('loses the finalizer of the parent and keeps all other finalizers, also new ones', () => {
    const write = removeFinalizer({ ...PART, finalizers: ['ours', 'theirs'] }, 'ours')
    expect(write).toMatchObject({ verb: 'patch', version: '7', patch: { metadata: { finalizers: ['theirs'] } } })
    const now = part({}, { finalizers: ['theirs', 'ours', 'new'] })
    expect(met(write, now)).toEqual({ metadata: { finalizers: ['theirs', 'new'] } })
    expect(met(write, part({}, { finalizers: ['theirs'] }))).toBe('done')
    expect(met(write, OTHER)).toBe('superseded')
  })

  it('is deleted by UID and resource version', () => {
    expect(deleteChild(PART)).toMatchObject({
      verb: 'delete',
      watched,
      namespace: 'n',
      name: 'p',
      uid: 'uid-p',
      version: '7',
    })
  })
})
