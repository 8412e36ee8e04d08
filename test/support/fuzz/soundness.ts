// Checks that hold after any input of users. Source: Acto's oracles "no crash" and "explicit error".
//
//   S1. Bridge and worker have not restarted, are ready, and log only user errors.
//   S2. The journal knows the newest version of each object with jobs. There is no wake and no open run.
//   S3. No workflow task has failed.
//   S4. A planted secret is in no row, history, log, status or Event.

import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'

import { loggedProblems } from '../landscaper/bad-input.ts'
import type { Cluster } from '../cluster/cluster.ts'
import type { Pawl } from '../pawl/pawl.ts'
import { eventsOf, historiesOf, journalOf, findLeaks } from '../tenants/planted-secret.ts'
import { readiness } from '../pawl/pawl.ts'

const PARTS = ['bridge', 'worker'] as const
const SUBJECTS = { Installation: 'installations', Execution: 'executions', DeployItem: 'deployitems' } as const
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
  await atRest(pawl, cluster)
  const [histories, journal, objects, events, stuck, ready] = await Promise.all([
    historiesOf(pawl, cluster, 1),
    journalOf(pawl),
    Promise.all(Object.values(SUBJECTS).map((plural) => cluster.list(plural))),
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

/** Rows of pending work. A scheduled later job is allowed. */
async function wakesOf(db: Pawl['db']): Promise<readonly { readonly uid: string }[]> {
  const { rows } = await sql<{ uid: string }>`
    select w.* from wake w
    where not (w.due > now() + interval '10 s' and exists (
      select from object o where o.uid = w.uid and o.projection #> '{spec,automaticReconcile}' is not null))`.execute(
    db,
  )
  return rows
}

async function atRest({ db }: Pawl, cluster: Cluster): Promise<void> {
  const deadline = Date.now() + REST_MS
  for (;;) {
    const [lists, rows, wakes, jobs] = await Promise.all([
      Promise.all(Object.values(SUBJECTS).map((plural) => cluster.list(plural))),
      db.selectFrom('object').selectAll().where('deleted', '=', false).execute(),
      wakesOf(db),
      db.selectFrom('job').select(['workflow_id', 'last_error']).where('outcome', 'is', null).execute(),
    ])
    const found = lists.flat().map(({ metadata: { name, resourceVersion } }) => `${name} ${resourceVersion ?? ''}`)
    const known = rows
      .filter(({ kind }) => Object.hasOwn(SUBJECTS, kind))
      .map(({ name, resource_version }) => `${name} ${resource_version}`)
    const news = found.filter((one) => !known.includes(one))
    const left = known.filter((one) => !found.includes(one))
    if (news.length + left.length + wakes.length + jobs.length === 0) return
    if (Date.now() > deadline)
      throw new Error(`the journal is not at rest: ${JSON.stringify({ news, left, wakes, jobs }, undefined, 1)}`)
    await sleep(100)
  }
}
