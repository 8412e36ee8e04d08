// The judge of storms sees what happened twice, and nothing else.

import { describe, expect, it } from 'vitest'
import type { RecordedWrite } from '../support/faults/api-proxy.ts'
import { doubled } from '../support/tenants/crowd.ts'
import { diceOf, drawn } from '../support/matrix/dice.ts'

const ENDED = { jobID: 'j1', jobIDFinished: 'j1' }

function write(label: string, own: { uid?: string; version?: string; status?: object; code?: number }): RecordedWrite {
  const { uid = 'u1', version = '1', status = {}, code = 200 } = own
  const metadata = { name: 'one', uid, resourceVersion: version }
  const answer = { metadata, status } as unknown as RecordedWrite['answer']
  return { label, path: '/namespaces/n/deployitems/one', status: code, body: { status }, answer }
}

describe('what happened twice', () => {
  it('is a name that was made of two objects', () => {
    const writes = [write('POST deployitems', { uid: 'u1' }), write('POST deployitems', { uid: 'u2' })]
    expect(doubled(writes)).toEqual(['POST deployitems one: 2 times'])
  })

  it('is a job that was ended in two versions', () => {
    const writes = ['1', '2'].map((version) => write('PATCH deployitems/status', { version, status: ENDED }))
    expect(doubled(writes)).toEqual(['end of job j1 of /namespaces/n/deployitems/one: 2 times'])
  })

  it('is neither a write without effect nor one that was refused', () => {
    const repeated = [
      write('PATCH deployitems/status', { status: ENDED }),
      write('PATCH deployitems/status', { status: ENDED }),
    ]
    const refused = [write('POST deployitems', {}), write('POST deployitems', { uid: 'u2', code: 409 })]
    expect(doubled([...repeated, ...refused])).toEqual([])
  })
})

describe('chance', () => {
  it('is repeated by its seed', () => {
    const [left, right, other] = [diceOf(1), diceOf(1), diceOf(2)]
    const some = (dice: () => number) => Array.from({ length: 5 }, dice)
    const first = some(left)
    expect(some(right)).toEqual(first)
    expect(some(other)).not.toEqual(first)
  })

  it('draws by weight', () => {
    expect([0, 0.74, 0.76, 0.999].map((chance) => drawn({ often: 3, rarely: 1 }, chance))).toEqual([
      ...['often', 'often', 'rarely', 'rarely'],
    ])
  })
})
