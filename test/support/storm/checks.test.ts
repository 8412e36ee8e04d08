// Tests the check for repeated writes, and the random numbers of the test matrices.

import { describe, expect, it } from 'vitest'
import type { RecordedWrite } from '../faults/http-proxy.ts'
import { doubled } from './checks.ts'
import { diceOf, drawn } from '../matrix/dice.ts'

const ENDED = { jobID: 'j1', jobIDFinished: 'j1' }

function write(label: string, own: { uid?: string; version?: string; status?: object; code?: number }): RecordedWrite {
  const { uid = 'u1', version = '1', status = {}, code = 200 } = own
  const metadata = { name: 'one', uid, resourceVersion: version }
  const answer = { metadata, status } as unknown as RecordedWrite['answer']
  return { label, path: '/namespaces/n/deployitems/one', status: code, body: { status }, answer }
}

describe('The check for repeated writes', () => {
  it('reports two objects that were created with one name', () => {
    const writes = [write('POST deployitems', { uid: 'u1' }), write('POST deployitems', { uid: 'u2' })]
    expect(doubled(writes)).toEqual(['POST deployitems one: 2 times'])
  })

  it('reports a job that was ended in two versions', () => {
    const writes = ['1', '2'].map((version) => write('PATCH deployitems/status', { version, status: ENDED }))
    expect(doubled(writes)).toEqual(['end of job j1 of /namespaces/n/deployitems/one: 2 times'])
  })

  it('reports neither a write without effect nor a refused write', () => {
    const repeated = [
      write('PATCH deployitems/status', { status: ENDED }),
      write('PATCH deployitems/status', { status: ENDED }),
    ]
    const refused = [write('POST deployitems', {}), write('POST deployitems', { uid: 'u2', code: 409 })]
    expect(doubled([...repeated, ...refused])).toEqual([])
  })
})

describe('Random numbers of a seed', () => {
  it('repeat with the same seed', () => {
    const [left, right, other] = [diceOf(1), diceOf(1), diceOf(2)]
    const some = (dice: () => number) => Array.from({ length: 5 }, dice)
    const first = some(left)
    expect(some(right)).toEqual(first)
    expect(some(other)).not.toEqual(first)
  })

  it('choose by weight', () => {
    expect([0, 0.74, 0.76, 0.999].map((chance) => drawn({ often: 3, rarely: 1 }, chance))).toEqual([
      ...['often', 'often', 'rarely', 'rarely'],
    ])
  })
})
