// Tests checkpoints and leases of watched kinds (resource version, lease owner, PostgreSQL timeline) against a real
// PostgreSQL.

import { sql } from 'kysely'
import { describe, expect, inject, it } from 'vitest'
import { knownFamilies } from '../../activities/journal/read/known-objects.ts'
import { newestVersion } from '../../activities/journal/read/subjects.ts'
import { acquireLease, LeaseLost, renewLease } from '../../activities/journal/write/checkpoints.ts'
import { journalEvents } from '../../activities/journal/write/events.ts'
import { groupKindText } from '../../workflows/kit/index.ts'
import { deps, seen, TASK } from '../activities/journal/build-events.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
const watch = { cluster: 'c', source: 'watch' } as const

describe('journaling with a checkpoint', () => {
  it('moves the checkpoint while the caller holds the lease; without the lease, it journals nothing of the batch', async () => {
    await acquireLease(test.db, { cluster: 'c', ...TASK, owner: 'me', leaseMs: 60_000 })
    await journalEvents(
      test.db,
      { ...watch, events: [], checkpoint: { ...TASK, resourceVersion: 7, epoch: 1, leaseOwner: 'me' } },
      deps,
    )
    expect(await newestVersion(test.db, 'c', TASK, 'ns')).toBe(7)
    const stolen = {
      ...watch,
      events: [seen('ADDED', { version: 8 })],
      checkpoint: { ...TASK, resourceVersion: 8, epoch: 1, leaseOwner: 'other' },
    }
    await expect(journalEvents(test.db, stolen, deps)).rejects.toThrow(LeaseLost)
    expect(await test.outcomes()).toEqual([])
    expect(await newestVersion(test.db, 'c', TASK, 'ns')).toBe(7)
  })

  it('fails with LeaseLost when PostgreSQL has failed over to another timeline since the lease was acquired', async () => {
    const mine = { cluster: 'c', ...TASK, owner: 'me', leaseMs: 60_000 }
    const held = await acquireLease(test.db, mine)
    await renewLease(test.db, { ...mine, timeline: held?.timeline })
    await expect(renewLease(test.db, { ...mine, timeline: 'FFFFFFFF' })).rejects.toThrow(LeaseLost)
    const batch = (timeline: string | undefined) => {
      const checkpoint = { ...TASK, resourceVersion: 7, epoch: 1, leaseOwner: 'me', timeline }
      return { ...watch, events: [seen('ADDED', { version: 7 })], checkpoint }
    }
    await expect(journalEvents(test.db, batch('FFFFFFFF'), deps)).rejects.toThrow(LeaseLost)
    expect(await test.outcomes()).toEqual([])
    await journalEvents(test.db, batch(held?.timeline), deps)
    expect(await newestVersion(test.db, 'c', TASK, 'ns')).toBe(7)
  })

  it('requires a relist of the kind after PostgreSQL has failed over; until then the kind counts as incomplete', async () => {
    const mine = { cluster: 'c', ...TASK, owner: 'me', leaseMs: 60_000 }
    const { timeline } = (await acquireLease(test.db, mine)) ?? {}
    const move = async (epoch: number) => {
      const checkpoint = { ...TASK, resourceVersion: 7, epoch, leaseOwner: 'me', timeline }
      await journalEvents(test.db, { ...watch, events: [], checkpoint }, deps)
    }
    const isWhole = async () => {
      const [family] = await knownFamilies(test.db, 'c', [{ ...TASK, namespace: 'ns', name: 'n', uid: 'u' }])
      return family?.listedKinds.has(groupKindText(TASK))
    }
    await move(1)
    expect(await isWhole()).toBe(true)
    expect(await acquireLease(test.db, mine)).toMatchObject({ resourceVersion: 7, epoch: 1 })

    // The rows that a server with another timeline left.
    await sql`update watch_checkpoint set timeline = 'FFFFFFFF'`.execute(test.db)
    expect(await isWhole()).toBe(false)
    expect(await acquireLease(test.db, mine)).toEqual({ resourceVersion: undefined, epoch: 1, timeline })
    expect(await isWhole()).toBe(false)
    await move(2)
    expect(await isWhole()).toBe(true)

    // The rows of an earlier version of Pawl, which have no timeline.
    await sql`update watch_checkpoint set timeline = null`.execute(test.db)
    expect(await isWhole()).toBe(true)
    expect(await acquireLease(test.db, mine)).toEqual({ resourceVersion: 7, epoch: 2, timeline })
  })

  it('gives the lease to one of two owners, and to the other owner when the lease expires', async () => {
    expect(await acquireLease(test.db, { cluster: 'c', ...TASK, owner: 'a', leaseMs: 60_000 })).toEqual({
      resourceVersion: undefined,
      epoch: 0,
      timeline: expect.stringMatching(/^[0-9A-F]{8}$/) as string,
    })
    expect(await acquireLease(test.db, { cluster: 'c', ...TASK, owner: 'b', leaseMs: 60_000 })).toBeUndefined()
    await acquireLease(test.db, { cluster: 'c', ...TASK, owner: 'a', leaseMs: -1 })
    expect(await acquireLease(test.db, { cluster: 'c', ...TASK, owner: 'b', leaseMs: 60_000 })).toEqual({
      resourceVersion: undefined,
      epoch: 0,
      timeline: expect.stringMatching(/^[0-9A-F]{8}$/) as string,
    })
  })
})
