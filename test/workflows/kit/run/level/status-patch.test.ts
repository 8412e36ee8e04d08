// The status patch of a controller in level mode (workflows/kit/run/level/status-patch.ts). The order of the arguments:
// statusPatch(wanted, current), applyStatusPatch(current, patch), mergeConditions(current, changed).

import { describe, expect, it } from 'vitest'

import { mergeConditions, statusPatch, applyStatusPatch } from '../../../../../workflows/kit/index.ts'

const ready = { type: 'Ready', status: 'True' }
const notReady = { type: 'Ready', status: 'False' }
const theirs = { type: 'Theirs', status: 'True' }

describe('the status patch of a pass', () => {
  it('contains only the given fields that differ; null removes a field, and equals an absent one', () => {
    expect(statusPatch({ a: '1', b: null }, { a: '1' })).toBeUndefined()
    expect(statusPatch({}, undefined)).toBeUndefined()
    expect(statusPatch({ a: '2', b: null, c: { d: 1 } }, { a: '1', b: 'x', c: { d: 1 } })).toEqual({
      status: { a: '2', b: null },
      conditions: [],
    })
  })

  it('contains new and changed conditions only, because other controllers write theirs', () => {
    expect(statusPatch({ conditions: [ready, theirs] }, { conditions: [notReady, theirs] })).toEqual({
      status: {},
      conditions: [ready],
    })
    expect(statusPatch({ conditions: [ready] }, { conditions: [theirs, ready] })).toBeUndefined()
    // Null is not a list: it removes the whole field, with the conditions of other controllers.
    expect(statusPatch({ conditions: null }, { conditions: [ready] })?.status).toEqual({ conditions: null })
  })

  it('replaces the whole field if the wanted or the current value is not a list of conditions', () => {
    expect(statusPatch({ conditions: ['x'] }, { conditions: [ready] })?.status).toEqual({ conditions: ['x'] })
    expect(statusPatch({ conditions: [ready] }, { conditions: 'x' })?.status).toEqual({ conditions: [ready] })
  })

  it('removes a condition that is given with the status null, if it exists, and no other condition', () => {
    const gone = { type: 'Theirs', status: null }
    expect(statusPatch({ conditions: [ready, gone] }, { conditions: [theirs, ready] })).toEqual({
      status: {},
      conditions: [gone],
    })
    expect(applyStatusPatch({ conditions: [theirs, ready] }, { status: {}, conditions: [gone] })).toEqual({
      conditions: [ready],
    })
    expect(statusPatch({ conditions: [ready, gone] }, { conditions: [ready] })).toBeUndefined()
    expect(statusPatch({ conditions: [gone] }, undefined)).toBeUndefined()
    expect(mergeConditions([theirs], [gone])).toEqual([])
  })

  it('applied to a status, replaces and removes the fields that it contains and keeps all others', () => {
    const news = { status: { a: '2', b: null }, conditions: [ready] }
    expect(applyStatusPatch({ a: '1', b: 'x', c: 'y', conditions: [theirs, notReady] }, news)).toEqual({
      a: '2',
      c: 'y',
      conditions: [theirs, ready],
    })
    expect(applyStatusPatch(undefined, { status: {}, conditions: [ready] })).toEqual({ conditions: [ready] })
  })

  it('replaces a condition of the same type in place, and appends new ones', () => {
    expect(mergeConditions([notReady, theirs], [{ type: 'New', status: 'True' }, ready])).toEqual([
      ...[ready, theirs, { type: 'New', status: 'True' }],
    ])
    expect(mergeConditions(undefined, [ready])).toEqual([ready])
  })
})
