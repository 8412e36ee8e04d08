// Crashes of a worker whose run could not write its events to the journal, because the test locks the table of events. The API server has the writes,
// the journal does not. The bridge journals the results of these writes, with the run of the dead worker as their writer. Source: docs/adr/0026.

import pg from 'pg'
import { expect } from 'vitest'
import type { RecordedWrite, WritePoint } from '../http-proxy.ts'
import { type Course, install, uninstall } from '../course.ts'
import { type CrashCase, withCrash } from '../crash.ts'
import { isUnwatched, findUnjournaledWrites } from '../unjournaled-writes.ts'
import type { Lane } from '../lane.ts'

const UNFLUSHED = 'before it can write to the journal leaves a journal with all its writes'
const IN_JOB: readonly (WritePoint & { readonly what: string })[] = [
  { label: 'POST deployitems', nth: 2, what: 'the creation of its items' },
  { label: 'PATCH installations/status', nth: 2, what: 'the end of its job' },
]

export const UNFLUSHED_CASES: readonly CrashCase[] = [
  ...IN_JOB.map(({ what, ...at }, index) => ({
    title: `${UNFLUSHED}: after ${what}`,
    async run(lane: Lane) {
      const name = `unflushed-${index}`
      const { jobIDs, runs, writes } = await withLockedEvents(lane, at, () => install(lane, name))
      expect({ jobIDs, runs }).toEqual({ jobIDs: 1, runs: ['installation: Succeeded'] })
      expect(writes.map(({ label }) => label)).toContain(at.label)
      expect(await findUnjournaledWrites(lane.pawl, name, writes)).toEqual([])
      // The bridge does not watch Secrets. Only the action shows them.
      expect(writes.filter((write) => isUnwatched(write)).length).toBeLessThanOrEqual(1)
    },
  })),
  {
    title: `${UNFLUSHED}: after the end of its deletion`,
    async run(lane: Lane) {
      const [name, at] = ['unflushed-deletion', { label: 'PATCH installations', nth: 1 }]
      await install(lane, name)
      const { jobIDs, runs, writes } = await withLockedEvents(lane, at, () => uninstall(lane, name))
      expect({ jobIDs, runs }).toEqual({ jobIDs: 2, runs: ['installation: Deleted', 'installation: Succeeded'] })
      expect(writes.map(({ label }) => label)).toContain(at.label)
      expect(await findUnjournaledWrites(lane.pawl, name, writes)).toEqual([])
    },
  },
]

/** Kills the worker after the given write. From the first write until the worker is dead, no process can write to the table of events. */
async function withLockedEvents(lane: Lane, at: WritePoint, act: () => Promise<Course>) {
  const lock = new pg.Client({ connectionString: lane.pawl.databaseUrl })
  await lock.connect()
  let writes: readonly RecordedWrite[] = []
  try {
    const course = await withCrash(lane, { part: 'worker', when: 'after', at }, act, {
      async disturb(_label, nth) {
        if (nth === 1) await lock.query('begin; lock table watch_event in share row exclusive mode')
        return undefined
      },
      async whileDead() {
        writes = [...lane.proxy.writes]
        await lock.end()
      },
    })
    return { ...course, writes }
  } finally {
    // Idempotent: releases the table also when there was no crash.
    await lock.end()
  }
}
