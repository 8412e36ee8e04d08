// How many wakes a dispatcher may deliver to a controller that limits its concurrent passes: against a real PostgreSQL.

import { describe, expect, inject, it } from 'vitest'
import { releasePermit, acquirePermit } from '../../activities/journal/write/pass-permits.ts'
import { PassCapacity } from '../../worker/reconciler/capacity.ts'
import { createRegistry } from '../../worker/server/registry.ts'
import { defineLevel, nop } from '../../workflows/kit/index.ts'
import { NOW } from '../activities/journal/build-events.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)

const target = { apiVersion: 'example.com/v1', kind: 'Shop', plural: 'shops' }
const bounded = defineLevel({ name: 'shop', target, queries: {}, plan: nop, settings: { passes: 3 } })
const free = defineLevel({ name: 'till', target, queries: {}, plan: nop })
const controllers = ['shop', 'till']

const turn = async (uid: string) => {
  const of = { cluster: 'c', controller: 'shop', uid, workflowID: `shop/${uid}`, namespace: 'ns', name: uid }
  expect(await acquirePermit(test.db, of, 3, NOW)).toBe(true)
}
const left = async (room: PassCapacity) =>
  Object.fromEntries(await room.remaining(test.db, { cluster: 'c', controllers }, NOW))

describe('the pass capacity of a controller', () => {
  it('is its limit minus the running passes and the wakes in delivery; each object counts once', async () => {
    const room = new PassCapacity(createRegistry([bounded, free], []))
    expect(await left(room)).toEqual({ shop: 3 })
    const arrived = ['a', 'a', 'b'].map((uid) => room.acquire({ controller: 'shop', uid }))
    expect(await left(room)).toEqual({ shop: 1 })
    await turn('a')
    expect(await left(room)).toEqual({ shop: 1 })
    await turn('elsewhere')
    expect(await left(room)).toEqual({ shop: 0 })
    arrived.forEach((arrive) => arrive?.())
    arrived.forEach((arrive) => arrive?.())
    expect(await left(room)).toEqual({ shop: 1 })
    await releasePermit(test.db, { cluster: 'c', controller: 'shop', uid: 'a' })
    expect(await left(room)).toEqual({ shop: 2 })
  })

  it('grows again when another process releases a permit without notifying this one', async () => {
    const room = new PassCapacity(createRegistry([bounded], []))
    room.acquire({ controller: 'shop', uid: 'a' })
    await turn('a')
    expect(await left(room)).toEqual({ shop: 2 })
    await releasePermit(test.db, { cluster: 'c', controller: 'shop', uid: 'a' })
    expect(await left(room)).toEqual({ shop: 3 })
  })

  it('is not tracked when the controller has no limit', async () => {
    const room = new PassCapacity(createRegistry([free], []))
    expect(room.acquire({ controller: 'till', uid: 'a' })).toBeUndefined()
    expect(await left(room)).toEqual({})
  })
})
