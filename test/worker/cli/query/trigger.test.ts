import { describe, expect, it } from 'vitest'

import { triggerOf } from '../../../../worker/cli/query/causes.ts'
import { after, event, job } from './build-node.ts'

const handing = { projection: { status: { jobID: 'j1' } } }

describe('the trigger of a job', () => {
  const byHand = event(1)
  it.each([
    ['the edit before the job ID that its own run hands out', event(2, { ...handing, writer: 'run/a' }), 'cause', 1],
    ['the write that handed the ID of a hosted job out', event(2, { ...handing, writer: 'run/a' }), 'hosted', 2],
    ['somebody who gave it its ID', event(2, handing), 'cause', 2],
  ])('is %s', (_what, second, cause, seq) => {
    expect(triggerOf([byHand, second, event(3, handing)], job('a', { cause }))?.seq).toBe(seq)
  })

  it('is no write of the previous job of the same object', () => {
    const uid = 'installation/ns/shop/u'
    const own = [event(2, { writer: `${uid}/j0` }), event(3, { ...handing, writer: `${uid}/j1` })]
    expect(triggerOf([byHand, ...own], job('a', { cause: 'x', workflowID: `${uid}/j1` }))?.seq).toBe(1)
    const other = event(2, { writer: 'installation/ns/base/v/j0' })
    expect(triggerOf([byHand, other, ...own], job('a', { cause: 'x', workflowID: `${uid}/j1` }))?.seq).toBe(2)
  })

  it('is the last wake before a job without ID, and unknown if the journal no longer has it', () => {
    const level = job('a', { jobID: '', startedAt: after(2), cause: 'changed' })
    expect(triggerOf([byHand, event(2, { outcome: 'ignored' }), event(3)], level)?.seq).toBe(1)
    expect(triggerOf([], level)).toBeUndefined()
  })
})
