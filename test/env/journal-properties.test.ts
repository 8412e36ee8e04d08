// The journal's invariants over random histories of a small cluster (docs/concepts/architecture.md "Journal"), against a real
// PostgreSQL. The watch repeats events, lists arrive between events, and responses to writes arrive before their
// events. S7 (events of several kinds out of order) and S8 (repeated events) are faults in docs/concepts/faults.md.

import fc from 'fast-check'
import { describe, expect, inject, it } from 'vitest'
import { objectsUpToVersion } from '../../activities/journal/write/checkpoints.ts'
import type { EventType } from '../../activities/journal/write/incoming-events.ts'
import { seen, TASK, type TaskOptions, taskKind } from '../activities/journal/build-events.ts'
import { emptyJournal, useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)

const slot = fc.nat(2)
const steps = fc.array(
  fc.oneof(
    {
      weight: 5,
      // Creates or changes an object. `declared`: a change of a field that the journal stores, as in every creation.
      // `own`: a run makes the change, and its response is journaled before the watch event.
      arbitrary: fc.record({ step: fc.constant('change' as const), slot, declared: fc.boolean(), own: fc.boolean() }),
    },
    { weight: 2, arbitrary: fc.record({ step: fc.constant('delete' as const), slot }) },
    // The watch delivers the next events.
    {
      weight: 3,
      arbitrary: fc.record({ step: fc.constant('deliver' as const), count: fc.integer({ min: 1, max: 5 }) }),
    },
    // The watch goes back, so that it delivers the last events again.
    { weight: 2, arbitrary: fc.record({ step: fc.constant('replay' as const), back: fc.integer({ min: 1, max: 6 }) }) },
    { weight: 1, arbitrary: fc.constant({ step: 'relist' as const }) },
  ),
  // Without `size`, most histories are too short to go back.
  { maxLength: 30, size: 'max' },
)
type Step = typeof steps extends fc.Arbitrary<(infer S)[]> ? S : never

/** A watch event of the cluster. */
interface Happened {
  readonly type: EventType
  readonly task: TaskOptions
}

/** An API server with three object names. A recreated object has a new uid. */
class Cluster {
  readonly history: Happened[] = []
  /** The existing objects by their slot. */
  readonly living = new Map<number, TaskOptions>()
  version = 100
  /** The number of created objects, for uids. */
  #births = 0

  change(slot: number, declared: boolean): Happened {
    const before = this.living.get(slot)
    this.version += 1
    const uid = before?.uid ?? `${slot}-${++this.#births}`
    const phase = before === undefined || declared ? `P${this.version}` : (before.status as { phase: string }).phase
    return this.#happen(before === undefined ? 'ADDED' : 'MODIFIED', slot, {
      uid,
      name: `n${slot}`,
      version: this.version,
      status: { phase },
    })
  }

  delete(slot: number): void {
    const before = this.living.get(slot)
    if (before === undefined) return
    this.version += 1
    this.#happen('DELETED', slot, { ...before, version: this.version })
    this.living.delete(slot)
  }

  /** Stores the state and adds the event to the history. `delete` then removes the state. */
  #happen(type: EventType, slot: number, task: TaskOptions): Happened {
    const happened = { type, task }
    this.living.set(slot, task)
    this.history.push(happened)
    return happened
  }
}

const told = ({ type, task }: Happened) => seen(type, task)
const writerOf = ({ task: { uid = '' } }: Happened) => `task/${uid}/j`

/** Applies the steps to the cluster, and journals the events that the journal sees of them. */
async function play(cluster: Cluster, script: readonly Step[]): Promise<void> {
  let cursor = 0
  const newest = new Map<string, number>()
  const deliver = async (count: number): Promise<void> => {
    const events = cluster.history.slice(cursor, cursor + count).map(told)
    await test.watch(...events)
    cursor += events.length
  }
  const relist = async (): Promise<void> => {
    await test.relist(...[...cluster.living.values()].map((task) => seen('ADDED', task)))
    const uids = new Set([...cluster.living.values()].map(({ uid }) => uid))
    const known = await objectsUpToVersion(test.db, 'c', TASK, cluster.version)
    const missing = known.filter(({ uid }) => !uids.has(uid))
    await test.relist(
      ...missing.map((object) => ({ watched: taskKind, missing: object, listVersion: cluster.version })),
    )
    cursor = cluster.history.length
  }
  // At the end the watch delivers all remaining events.
  for (const step of [...script, { step: 'deliver', count: Infinity } as const]) {
    if (step.step === 'change') {
      const happened = cluster.change(step.slot, step.declared)
      if (step.own) await test.write(writerOf(happened), told(happened))
    } else if (step.step === 'delete') cluster.delete(step.slot)
    else if (step.step === 'deliver') await deliver(step.count)
    else if (step.step === 'replay') cursor = Math.max(0, cursor - step.back)
    else await relist()
    await expectNoOlderVersion(newest)
  }
}

/** Checks the versions of all objects in the journal, and stores them in the map for the next check. */
async function expectNoOlderVersion(newest: Map<string, number>): Promise<void> {
  for (const { uid, resource_version } of await test.rows('object', 'uid', 'resource_version')) {
    expect(resource_version, `the version of ${uid}`).toBeGreaterThanOrEqual(newest.get(uid) ?? 0)
    newest.set(uid, resource_version)
  }
}

const clear = () => emptyJournal(test.db)

describe('S7, S8: a journal that has seen any history, however told', () => {
  it(
    'ends with the objects of the cluster, never returns to an older version, and has a reason for every event',
    { timeout: 240_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(steps, async (script) => {
          const cluster = new Cluster()
          await play(cluster, script)

          const objects = test.db.selectFrom('object').selectAll().where('deleted', '=', false).orderBy('name')
          const found = (await objects.execute()).map((row) => [
            row.uid,
            row.resource_version,
            row.projection['status'],
          ])
          const living = [...cluster.living.entries()].sort(([left], [right]) => left - right)
          expect(found).toEqual(living.map(([, { uid, version, status }]) => [uid, version, status]))

          const rows = await test.db.selectFrom('watch_event').selectAll().orderBy('seq').execute()
          expect(rows.every(({ reason }) => reason !== null && reason !== '')).toBe(true)
          const wakes = new Map((await test.wakes()).map(({ uid, seq }) => [uid, seq]))
          const journaled = new Map<string, Set<number>>()
          for (const { uid, resource_version, source, type, outcome, seq } of rows) {
            const versions = journaled.get(uid) ?? new Set()
            journaled.set(uid, versions)
            // Each version wakes once, also one that arrives after a newer one. After a deletion that a list shows, the
            // same version may return.
            if (outcome === 'wake') expect(wakes.get(uid)).toBeGreaterThanOrEqual(seq)
            if (source === 'relist' && type === 'DELETED') versions.clear()
            else {
              if (outcome === 'wake') expect(versions).not.toContain(resource_version)
              versions.add(resource_version)
            }
          }
          for (const { uid = '', version } of cluster.living.values()) expect(journaled.get(uid)).toContain(version)
        }),
        { numRuns: 40, plugins: [fc.beforeEach(clear)] },
      )
    },
  )

  it('marks a wake as foreign exactly when a change was not a write of the run', { timeout: 240_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(
        // `first`: the watch delivers after this change, before the next one.
        fc.array(fc.record({ own: fc.boolean(), first: fc.boolean() }), { minLength: 1, maxLength: 8 }),
        async (changes) => {
          const cluster = new Cluster()
          // Each delivery repeats all events since the start.
          const deliver = async () => await test.watch(...cluster.history.map(told))
          for (const { own, first } of changes) {
            const happened = cluster.change(0, true)
            if (own) await test.write(writerOf(happened), told(happened))
            if (first) await deliver()
          }
          await deliver()
          expect((await test.wakes())[0]?.foreign_event).toBe(changes.some(({ own }) => !own))
        },
      ),
      { numRuns: 40, plugins: [fc.beforeEach(clear)] },
    )
  })
})
