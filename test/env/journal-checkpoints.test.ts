// Tests checkpoints and leases of watched kinds (resource version, lease owner, PostgreSQL timeline) against a real
// PostgreSQL.

import { sql } from 'kysely'
import { describe, expect, inject, it } from 'vitest'
import { knownFamilies } from '../../activities/journal/read/known-objects.ts'
import { newestVersion } from '../../activities/journal/read/subjects.ts'
import { acquireLease, type Checkpoint, LeaseLost, renewLease } from '../../activities/journal/write/checkpoints.ts'
import { groupKindText } from '../../workflows/kit/index.ts'
import { seen, TASK } from '../activities/journal/build-events.ts'
import { createTestDatabase } from '../activities/journal/test-database.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
const mine = { cluster: 'c', ...TASK, owner: 'me', leaseMs: 60_000 }
const acquire = async (overrides: Partial<typeof mine> = {}) => await acquireLease(test.db, { ...mine, ...overrides })
/** Journals an event, or none, with a checkpoint of the lease. */
const move = async (checkpoint: Partial<Checkpoint>, ...events: ReturnType<typeof seen>[]) =>
  await test.journal({
    events,
    checkpoint: { ...TASK, resourceVersion: 7, epoch: 1, leaseOwner: 'me', ...checkpoint },
  })
const newest = async () => await newestVersion(test.db, 'c', TASK, 'ns')

describe('journaling with a checkpoint', () => {
  it('moves the checkpoint while the caller holds the lease; without the lease, it journals nothing of the batch', async () => {
    await acquire()
    await move({})
    expect(await newest()).toBe(7)
    const stolen = move({ resourceVersion: 8, leaseOwner: 'other' }, seen('ADDED', { version: 8 }))
    await expect(stolen).rejects.toThrow(LeaseLost)
    expect(await test.outcomes()).toEqual([])
    expect(await newest()).toBe(7)
  })

  it('fails with LeaseLost when PostgreSQL has failed over to another timeline since the lease was acquired', async () => {
    const held = await acquire()
    await renewLease(test.db, { ...mine, timeline: held?.timeline })
    await expect(renewLease(test.db, { ...mine, timeline: 'FFFFFFFF' })).rejects.toThrow(LeaseLost)
    await expect(move({ timeline: 'FFFFFFFF' }, seen('ADDED', { version: 7 }))).rejects.toThrow(LeaseLost)
    expect(await test.outcomes()).toEqual([])
    await move({ timeline: held?.timeline }, seen('ADDED', { version: 7 }))
    expect(await newest()).toBe(7)
  })

  it('requires a relist of the kind after PostgreSQL has failed over; until then the kind counts as incomplete', async () => {
    const { timeline } = (await acquire()) ?? {}
    const isWhole = async () => {
      const [family] = await knownFamilies(test.db, 'c', [{ ...TASK, namespace: 'ns', name: 'n', uid: 'u' }])
      return family?.listedKinds.has(groupKindText(TASK))
    }
    await move({ timeline })
    expect(await isWhole()).toBe(true)
    expect(await acquire()).toMatchObject({ resourceVersion: 7, epoch: 1 })

    // The rows that a server with another timeline left.
    await sql`update watch_checkpoint set timeline = 'FFFFFFFF'`.execute(test.db)
    expect(await isWhole()).toBe(false)
    expect(await acquire()).toEqual({ resourceVersion: undefined, epoch: 1, timeline })
    expect(await isWhole()).toBe(false)
    await move({ epoch: 2, timeline })
    expect(await isWhole()).toBe(true)

    // The rows of an earlier version of Pawl, which have no timeline.
    await sql`update watch_checkpoint set timeline = null`.execute(test.db)
    expect(await isWhole()).toBe(true)
    expect(await acquire()).toEqual({ resourceVersion: 7, epoch: 2, timeline })
  })
})

describe('the lease of a kind', () => {
  it('goes to one of two owners, and to the other owner when the lease expires', async () => {
    const first = { resourceVersion: undefined, epoch: 0, timeline: expect.stringMatching(/^[0-9A-F]{8}$/) as string }
    expect(await acquire()).toEqual(first)
    expect(await acquire({ owner: 'b' })).toBeUndefined()
    await acquire({ leaseMs: -1 })
    expect(await acquire({ owner: 'b' })).toEqual(first)
  })

  it('is refused by a store that speaks the PostgreSQL protocol but has no timelines, and the error says what is missing', async () => {
    // New connections: a statement that another test has prepared would not fail.
    const store = await createTestDatabase(inject('servers').databaseUrl)
    try {
      await sql`alter function pg_catalog.pg_walfile_name(pg_lsn) rename to pg_walfile_no_name`.execute(store.db)
      const taken = acquireLease(store.db, mine)
      await expect(taken).rejects.toThrow(
        /^journal: the database does not permit calls of pg_walfile_name and pg_current_wal_insert_lsn; use a PostgreSQL that permits them: /,
      )
    } finally {
      await store.drop()
    }
  })
})
