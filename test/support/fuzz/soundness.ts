// Checks that hold after any input of users. Source: Acto's oracles "no crash" and "explicit error".
//
//   S1. Bridge and worker have not restarted, are ready, and log only user errors.
//   S2. The journal knows the newest version of each object with jobs. There is no wake and no open run.
//   S3. No workflow task has failed.
//   S4. A planted secret is in no row, history, log, status or Event.

import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'

import { loggedProblems } from '../landscaper/bad-input.ts'
import type { Cluster } from '../cluster/cluster.ts'
import { waitUntilJournalIdle } from '../faults/lane.ts'
import type { Pawl } from '../pawl/pawl.ts'
import { eventsOf, historiesOf, journalOf, findLeaks } from '../tenants/planted-secret.ts'
import { readiness } from '../pawl/pawl.ts'

const PARTS = ['bridge', 'worker'] as const
const SUBJECTS = ['installations', 'executions', 'deployitems']
const REST_MS = 60_000

interface Soundness {
  readonly trouble: readonly unknown[]
  readonly leaks: readonly string[]
}

/** Nothing is wrong. */
const SOUND: Soundness = { trouble: [], leaks: [] }

/** Registers the test that closes a file. */
export function describeSoundness(
  stage: { readonly pawl: Pawl; readonly cluster: Cluster },
  secret: string,
  limitMs: number,
): void {
  describe('Pawl after all of this', () => {
    it(
      'is at rest and well, and has told nobody what the objects hold',
      async () => {
        expect(await soundness(stage.pawl, stage.cluster, secret)).toEqual(SOUND)
      },
      limitMs,
    )
  })
}

/** @throws when the journal does not come to rest. */
async function soundness(pawl: Pawl, cluster: Cluster, secret: string): Promise<Soundness> {
  await waitUntilJournalIdle({ pawl, cluster }, REST_MS)
  const [histories, journal, objects, events, stuck, ready] = await Promise.all([
    historiesOf(pawl, cluster, 1),
    journalOf(pawl),
    Promise.all(SUBJECTS.map((plural) => cluster.list(plural))),
    eventsOf(cluster),
    sql`select workflow_id, last_error, restarts from job where restarts > 0`.execute(pawl.db),
    Promise.all(PARTS.map(async (part) => ({ part, status: await readiness(pawl.log(part)) }))),
  ])
  const statuses = objects.flat().map(({ metadata, status }) => [metadata.name, status])
  // A task that is voided by a signal has failed too, and is no bug.
  const failedTasks = histories.match(/.{0,600}(UNHANDLED_FAILURE|NON_DETERMINISTIC_ERROR).{0,600}/g) ?? []
  const trouble = PARTS.flatMap((part) => [
    ...(pawl.child(part).exitCode === null ? [] : [`${part} has ended`]),
    ...loggedProblems(pawl, part),
  ])
  const places = [
    histories,
    journal,
    JSON.stringify(statuses),
    JSON.stringify(events),
    ...PARTS.map((part) => pawl.log(part)),
  ]
  return {
    trouble: [...trouble, ...failedTasks, ...stuck.rows, ...ready.filter(({ status }) => status !== 200)],
    leaks: places.flatMap((place) => findLeaks(place, secret)),
  }
}
