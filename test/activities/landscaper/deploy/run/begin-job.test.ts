// An item whose job begins with its first status write.

import { describe, expect, it } from 'vitest'

import { deployer as mockDeployer } from '../../../../../activities/landscaper/deploy/mock/deployer.ts'
import { asFirstWrite, claimItem } from '../../../../../activities/landscaper/deploy/run/begin-job.ts'
import { isStarting, pickedUpStatus, remainingMs } from '../../../../../activities/landscaper/deploy/run/item-status.ts'
import { hasJob } from '../../../../../activities/landscaper/deploy/run/item-watch.ts'
import { statusWrite } from '../../../../../activities/landscaper/deploy/run/item-write.ts'
import { storedAs } from '../../../../../activities/kube/object-views.ts'
import { SKIP_ANNOTATION } from '../../../../../workflows/landscaper/contract.ts'
import { type DeployItem, deployItemKind } from '../../../../../workflows/landscaper/deploy-item/kind.ts'

const NOW = new Date('2030-01-01T00:10:00Z')
const EARLIER = '2030-01-01T00:00:00Z'
const TIMES = { triggerTime: EARLIER, initTime: EARLIER, waitTime: EARLIER, finishedTime: EARLIER }
const AFTER = { jobID: 'before', jobIDFinished: 'before', phase: 'Succeeded', transitionTimes: TIMES }

describe('a hosted item that its run claims', () => {
  it('has the job at once, as if the trigger had been written', () => {
    const taken = claimItem(item(AFTER), 'job', NOW)
    expect(taken?.object.status).toEqual({
      ...AFTER,
      jobID: 'job',
      jobIDGenerationTime: NOW.toISOString(),
      transitionTimes: { triggerTime: NOW.toISOString() },
    })
    expect(taken?.begins?.before).toBe('before')
  })

  it('is starting, with its complete timeout left', () => {
    const { object } = claimItem(item(AFTER), 'job', NOW) ?? { object: item(AFTER) }
    expect([isStarting({ object }), remainingMs(object, NOW)]).toEqual([true, 600_000])
  })

  it('may be new', () => {
    expect(claimItem(item(undefined), 'job', NOW)).toMatchObject({
      object: { status: { jobID: 'job' } },
      begins: { before: undefined },
    })
  })

  it('is unchanged if it has the job, finished or not', () => {
    for (const status of [
      { jobID: 'job', phase: 'Progressing' },
      { jobID: 'job', jobIDFinished: 'job' },
    ])
      expect(claimItem(item(status), 'job', NOW)).toEqual({ object: item(status), begins: undefined })
  })

  it('is not changed while it has another unfinished job', () => {
    expect(claimItem(item({ ...AFTER, jobID: 'other' }), 'job', NOW)).toBeUndefined()
  })

  it('has the job while the stored job is the finished previous one', () => {
    const object = item(AFTER)
    const taken = {
      ...claimItem(object, 'job', NOW),
      object,
      jobID: 'job',
      begins: claimItem(object, 'job', NOW)?.begins,
    }
    const ours = (status: object) => hasJob(item(status), taken)
    expect([AFTER, { jobID: 'job' }].map(ours)).toEqual([true, true])
    const others = [{ ...AFTER, jobID: 'other' }, { jobID: 'job', jobIDFinished: 'job' }, { jobID: 'before' }]
    expect(others.map(ours)).toEqual([false, false, false])
    expect(hasJob(item(AFTER), { ...taken, begins: undefined })).toBe(false)
  })
})

describe('the first status write of a job', () => {
  const begins = claimItem(item(AFTER), 'job', NOW)?.begins ?? { before: undefined, status: { transitionTimes: {} } }

  function firstWrite() {
    const { object } = claimItem(item(AFTER), 'job', NOW) ?? { object: item(AFTER) }
    const job = { object, jobID: 'job', now: NOW, deployer: mockDeployer.name, begins }
    const write = statusWrite(job, pickedUpStatus(job, 'Progressing'))
    if (write.verb !== 'patchStatus') throw new Error(`expected a status, found ${write.verb}`)
    return { job, write }
  }

  it('contains the job, and removes the times of the previous one', () => {
    expect(asFirstWrite(begins, { status: { phase: 'Progressing', transitionTimes: { initTime: 'now' } } })).toEqual({
      status: {
        jobID: 'job',
        jobIDGenerationTime: NOW.toISOString(),
        phase: 'Progressing',
        transitionTimes: { triggerTime: NOW.toISOString(), initTime: 'now', waitTime: null, finishedTime: null },
      },
    })
  })

  it('keeps the other fields of the patch', () => {
    expect(asFirstWrite(begins, { metadata: { labels: {} } })).toMatchObject({
      metadata: { labels: {} },
      status: { jobID: 'job', transitionTimes: { finishedTime: null } },
    })
  })

  it('is repeated on a newer version while the finished previous job is stored', () => {
    const { write, job } = firstWrite()
    const again = (status: object) => write.reapply(item(status))
    expect(again(AFTER)).toEqual(write.patch)
    // It was written, and the answer was lost: what the job itself says is enough.
    expect(again({ jobID: 'job' })).toEqual(pickedUpStatus(job, 'Progressing'))
    // Another hand has ended it.
    expect(again({ jobID: 'job', jobIDFinished: 'job' })).toBe('done')
    expect([{ ...AFTER, jobID: 'other' }, { jobID: 'before' }].map(again)).toEqual(['superseded', 'superseded'])
  })

  it('does not begin the job of an item that a user has skipped since the pass read it, unless the item is being deleted', () => {
    const { write } = firstWrite()
    const current = item(AFTER)
    const annotations = { [SKIP_ANNOTATION]: 'broken' }
    const skipped = { ...current, metadata: { ...current.metadata, annotations } }
    const deleted = { ...skipped, metadata: { ...skipped.metadata, deletionTimestamp: EARLIER } }
    expect(write.reapply(skipped)).toBe('superseded')
    expect(write.reapply(deleted)).toEqual(write.patch)
  })
})

function item(status: object | undefined): DeployItem {
  const metadata = { name: 'a', namespace: 'n', uid: 'uid-a', resourceVersion: '7', generation: 1 }
  return storedAs(deployItemKind, {
    apiVersion: deployItemKind.apiVersion,
    kind: deployItemKind.kind,
    metadata,
    spec: { type: mockDeployer.type, config: {} },
    ...(status !== undefined && { status }),
  })
}
