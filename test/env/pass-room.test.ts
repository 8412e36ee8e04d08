// How many wakes a dispatcher may bring to a controller that bounds its passes: against a real PostgreSQL.

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

describe('the room of a controller that bounds its passes', () => {
  it('is what passes under way and wakes on their way leave of it, each object once', async () => {
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

  it('is free again when a turn was given back in another process, which tells nobody here', async () => {
    const room = new PassCapacity(createRegistry([bounded], []))
    room.acquire({ controller: 'shop', uid: 'a' })
    await turn('a')
    expect(await left(room)).toEqual({ shop: 2 })
    await releasePermit(test.db, { cluster: 'c', controller: 'shop', uid: 'a' })
    expect(await left(room)).toEqual({ shop: 3 })
  })

  it('is nothing that is asked for of others', async () => {
    const room = new PassCapacity(createRegistry([free], []))
    expect(room.acquire({ controller: 'till', uid: 'a' })).toBeUndefined()
    expect(await left(room)).toEqual({})
  })
})
