// A worker is killed when the API server has its writes and the journal does not: no flush of the run could be committed, because the test keeps the
// table of events to itself. The bridge journals what came of these writes, under the run that died. Source: docs/adr/0026.

import pg from 'pg'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { SeenWrite, WritePoint } from '../support/api-proxy.ts'
import { isUnfollowed, missingFrom } from '../support/journaled.ts'
import { closeLane, install, type Lane, openLane, uninstall } from '../support/crash.ts'

const servers = inject('servers')
// On a busy machine a process takes many seconds to start.
const LIMIT_MS = 240_000

let lane: Lane
beforeAll(async () => {
  lane = await openLane('unflushed', servers)
}, LIMIT_MS)
afterAll(() => closeLane(lane))

type Half = (lane: Lane, name: string) => Promise<{ readonly jobIDs: number; readonly runs: readonly string[] }>

interface Point extends WritePoint {
  readonly what: string
  readonly name: string
}

const OF_JOB: readonly Point[] = [
  { what: 'its items are there', name: 'items', label: 'POST deployitems', nth: 2 },
  { what: 'its job has ended', name: 'over', label: 'PATCH installations/status', nth: 2 },
]
const OF_DELETION: readonly Point[] = [{ what: 'it is gone', name: 'gone', label: 'PATCH installations', nth: 1 }]

/** Runs one half of the scenario; its worker is killed after the server has done the write, and none of what the run told was journaled. */
async function unflushed(at: WritePoint, half: () => ReturnType<Half>) {
  const { proxy, pawl } = lane
  const lock = new pg.Client({ connectionString: pawl.databaseUrl })
  await lock.connect()
  const killed = new Promise<readonly SeenWrite[]>((resolve) =>
    proxy.arm(
      {
        ...{ at, when: 'after' },
        async act() {
          await pawl.kill('worker')
          resolve([...proxy.writes])
          return 'cut'
        },
      },
      async (_label, nth) => {
        // Before the first write: from then on the run flushes in vain.
        if (nth === 1) await lock.query('begin; lock table watch_event in share row exclusive mode')
        return undefined
      },
    ),
  )
  const course = half()
  const writes = await Promise.race([killed, course.then(() => [])])
  await lock.end()
  await pawl.startWorker()
  return { ...(await course), writes }
}

describe('an installation whose worker is killed before it could flush', () => {
  it.each(OF_JOB)(
    'has all that it wrote in the journal, under its run, when $what',
    async ({ name, ...at }) => {
      const { jobIDs, runs, writes } = await unflushed(at, () => install(lane, name))
      expect({ jobIDs, runs }).toEqual({ jobIDs: 1, runs: ['installation: Succeeded'] })
      expect(writes.map(({ label }) => label)).toContain(at.label)
      expect(await missingFrom(lane.pawl, name, writes)).toEqual([])
      // What nobody follows, such as Secrets, is known by its action alone.
      expect(writes.filter((write) => isUnfollowed(write)).length).toBeLessThanOrEqual(1)
    },
    LIMIT_MS,
  )

  it.each(OF_DELETION)(
    'has all that its deletion wrote in the journal, under its run, when $what',
    async ({ name, ...at }) => {
      await install(lane, name)
      const { jobIDs, runs, writes } = await unflushed(at, () => uninstall(lane, name))
      expect({ jobIDs, runs }).toEqual({ jobIDs: 2, runs: ['installation: Deleted', 'installation: Succeeded'] })
      expect(writes.map(({ label }) => label)).toContain(at.label)
      expect(await missingFrom(lane.pawl, name, writes)).toEqual([])
    },
    LIMIT_MS,
  )
})
