// A worker is stopped (SIGSTOP) while it sends a write, until a second worker has ended its job and the next one. When the worker continues, its write has no
// effect: it is fenced by the version of the object, or the object that it creates exists.

import { setTimeout as sleep } from 'node:timers/promises'
import { expect, vi } from 'vitest'
import type { WritePoint } from '../http-proxy.ts'
import { install, objectsOf } from '../course.ts'
import type { CrashCase } from '../crash.ts'
import { waitUntilJournalIdle, type Lane, RESTART_MS } from '../lane.ts'

const PLACES: readonly (WritePoint & { readonly what: string })[] = [
  { label: 'PATCH installations/status', nth: 1, what: 'the claim of the job' },
  { label: 'PATCH installations', nth: 1, what: 'the removal of the request' },
  { label: 'POST executions', nth: 1, what: 'the creation of the execution' },
  { label: 'POST deployitems', nth: 1, what: 'the creation of a deploy item' },
  { label: 'POST secrets', nth: 1, what: 'the creation of an export' },
  { label: 'PATCH deployitems/status', nth: 1, what: 'the end of a deploy item' },
  { label: 'POST dataobjects', nth: 1, what: 'the export of the execution' },
  { label: 'PATCH executions/status', nth: 1, what: 'the end of the execution' },
  { label: 'PATCH installations/status', nth: 2, what: 'the end of the job' },
]
/** In milliseconds: how long the continued worker may take to journal the result of its write. */
const JOURNAL_MS = 10_000

/** @param kubeconfig leads the second worker past the proxy of the lane. */
export function stoppedCases(kubeconfig: string): readonly CrashCase[] {
  return PLACES.map(({ what, ...at }, index) => ({
    title: what,
    async run(lane) {
      const { cluster, proxy, pawl } = lane
      const name = `stopped-${index}`
      const held = holdAt(lane, at)
      const first = install(lane, name)
      await held.stopped
      await pawl.startWorker('second', kubeconfig)
      expect((await first).jobIDs).toBe(1)
      const job = (await cluster.get('installations', name))?.status?.jobID
      await cluster.trigger(name)
      await cluster.waitUntilFinished(name, job, 'installations', RESTART_MS)
      await waitUntilJournalIdle(lane)
      const before = await versionsOf(lane, name)
      const count = proxy.writes.length

      const since = new Date()
      const ended = await lastEnd(lane)
      held.release()
      await untilAnswered(lane, { ended, count })
      await waitUntilJournalIdle(lane)

      const late = proxy.writes.slice(count)
      // The server refuses the held write, and all further writes of the same pass.
      expect(late[0]).toMatchObject({ status: 409, label: at.label })
      expect(late.filter((one) => one.status < 400)).toEqual([])
      expect(await versionsOf(lane, name), await journalSince(lane, since)).toEqual(before)
      await pawl.kill('second')
    },
  }))
}

/** Stops the worker when its write has reached the proxy. `release` continues the worker and forwards the write. */
function holdAt({ proxy, pawl }: Lane, at: WritePoint) {
  let release = (): void => undefined
  const stopped = new Promise<void>((resolve) =>
    proxy.arm({
      at,
      when: 'before',
      async act() {
        pawl.child('worker').kill('SIGSTOP')
        resolve()
        await new Promise<void>((go) => (release = go))
        pawl.child('worker').kill('SIGCONT')
        return 'go on'
      },
    }),
  )
  return { stopped, release: () => release() }
}

/** The time at which the journal's last write ended. A repeated write changes its row. */
async function lastEnd({ pawl: { db } }: Lane): Promise<number> {
  const latest = db.selectFrom('action').select((table) => table.fn.max('finished_at').as('at'))
  return (await latest.executeTakeFirstOrThrow()).at?.getTime() ?? 0
}

/**
 * Waits until the write has reached the server and the worker has journaled its result. A worker that first learns that its activity has timed out
 * does not send the request again, and its row stays unfinished.
 */
async function untilAnswered(lane: Lane, before: { readonly ended: number; readonly count: number }): Promise<void> {
  const hasReachedServer = () => {
    if (lane.proxy.writes.length <= before.count) throw new Error('the held write has not reached the server')
  }
  await vi.waitFor(hasReachedServer, { timeout: 60_000, interval: 50 })
  const deadline = Date.now() + JOURNAL_MS
  while (Date.now() < deadline && (await lastEnd(lane)) <= before.ended) await sleep(50)
}

/** The rows of the journal since a time, as the message of a failure. */
async function journalSince({ pawl: { db } }: Lane, since: Date): Promise<string> {
  const [actions, events, jobs] = await Promise.all([
    db.selectFrom('action').selectAll().where('started_at', '>=', since).orderBy('started_at').execute(),
    db.selectFrom('watch_event').selectAll().where('at', '>=', since).orderBy('seq').execute(),
    db.selectFrom('job').selectAll().orderBy('started_at').execute(),
  ])
  return JSON.stringify({ since, actions, events, jobs }, null, 1)
}

/** The objects of the Installation with their versions. */
async function versionsOf({ cluster }: Lane, name: string): Promise<readonly string[]> {
  const objects = await objectsOf(cluster, name)
  return objects.map(({ role, object: { metadata } }) => `${role} ${metadata.name} ${metadata.resourceVersion ?? ''}`)
}
