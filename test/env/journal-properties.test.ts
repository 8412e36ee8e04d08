// The journal's invariants over random histories of a small cluster (docs/architecture.md "Journal"), against a real
// PostgreSQL. The watch repeats events, lists arrive between events, and responses to writes arrive before their
// events. S7 (events of several kinds out of order) and S8 (repeated events) are faults in docs/faults.md.

import fc from 'fast-check'
import type { Selectable } from 'kysely'
import { describe, expect, inject, it } from 'vitest'
import type { WatchEventTable } from '../../activities/journal/database.ts'
import { objectsUpToVersion } from '../../activities/journal/write/checkpoints.ts'
import { journalEvents } from '../../activities/journal/write/events.ts'
import type { EventType } from '../../activities/journal/write/incoming-events.ts'
import { deps, seen, TASK, type TaskOptions, taskKind } from '../activities/journal/build-events.ts'
import { emptyJournal, useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)

/**
 * `change`: creates or changes an object. `declared`: the change is in a field that the journal stores, as in every
 * creation. `own`: a run makes the change, and its response is journaled before the watch event. `deliver`: the watch
 * delivers the next events. `replay`: the watch goes back, so that it delivers the last events again.
 */
type Step =
  | { readonly step: 'change'; readonly slot: number; readonly declared: boolean; readonly own: boolean }
  | { readonly step: 'delete'; readonly slot: number }
  | { readonly step: 'deliver'; readonly count: number }
  | { readonly step: 'replay'; readonly back: number }
  | { readonly step: 'relist' }

const slot = fc.nat(2)
const steps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ step: fc.constant('change' as const), slot, declared: fc.boolean(), own: fc.boolean() }),
    },
    { weight: 2, arbitrary: fc.record({ step: fc.constant('delete' as const), slot }) },
    {
      weight: 3,
      arbitrary: fc.record({ step: fc.constant('deliver' as const), count: fc.integer({ min: 1, max: 5 }) }),
    },
    { weight: 1, arbitrary: fc.record({ step: fc.constant('replay' as const), back: fc.integer({ min: 1, max: 6 }) }) },
    { weight: 1, arbitrary: fc.constant({ step: 'relist' as const }) },
  ),
  { maxLength: 30 },
)

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

/** Applies the steps to the cluster, and journals the events that the journal sees of them. */
async function play(cluster: Cluster, script: readonly Step[]): Promise<void> {
  let cursor = 0
  const deliver = async (count: number): Promise<void> => {
    const events = cluster.history.slice(cursor, cursor + count).map(({ type, task }) => seen(type, task))
    await journalEvents(test.db, { cluster: 'c', source: 'watch', events }, deps)
    cursor += events.length
  }
  const relist = async (): Promise<void> => {
    const events = [...cluster.living.values()].map((task) => seen('ADDED', task))
    await journalEvents(test.db, { cluster: 'c', source: 'relist', events }, deps)
    const uids = new Set([...cluster.living.values()].map(({ uid }) => uid))
    const known = await objectsUpToVersion(test.db, 'c', TASK, cluster.version)
    const missing = known
      .filter(({ uid }) => !uids.has(uid))
      .map((object) => ({ watched: taskKind, missing: object, listVersion: cluster.version }))
    await journalEvents(test.db, { cluster: 'c', source: 'relist', events: missing }, deps)
    cursor = cluster.history.length
  }
  for (const step of script) {
    switch (step.step) {
      case 'change': {
        const { type, task } = cluster.change(step.slot, step.declared)
        const writer = `task/${task.uid ?? ''}/j`
        if (step.own)
          await journalEvents(test.db, { cluster: 'c', source: 'write', writer, events: [seen(type, task)] }, deps)
        break
      }
      case 'delete':
        cluster.delete(step.slot)
        break
      case 'deliver':
        await deliver(step.count)
        break
      case 'replay':
        cursor = Math.max(0, cursor - step.back)
        break
      case 'relist':
        await relist()
    }
  }
  // At the end the watch delivers all remaining events.
  await deliver(Infinity)
}

const clear = () => emptyJournal(test.db)

type Row = Pick<Selectable<WatchEventTable>, 'uid' | 'outcome' | 'resource_version' | 'projection' | 'source' | 'type'>

/**
 * Checks that no journaled state of an object is older than the state before it. An older state that caused a wake
 * passes: the rows do not show whether it is a late change (below).
 */
function neverBack(rows: readonly Row[]): void {
  const newest = new Map<string, number>()
  for (const row of rows.filter(isState)) {
    const before = newest.get(row.uid) ?? 0
    // The watch event of another writer's change may arrive after the response to a newer write. The journal then
    // wakes the subject, but does not change the row of the object.
    const overtaken = row.outcome === 'wake' && row.resource_version < before && Object.keys(row.projection).length > 0
    if (overtaken) continue
    expect(row.resource_version).toBeGreaterThanOrEqual(before)
    newest.set(row.uid, row.resource_version)
  }
}

/**
 * Whether the row contains a state with the object's own resourceVersion. Stale events do not change the state. A
 * deletion that a relist discovers has the resourceVersion of the list; later watch events of the object may have a
 * lower one.
 */
const isState = ({ source, type, outcome }: Row): boolean =>
  outcome !== 'stale' && !(source === 'relist' && type === 'DELETED')

describe('S7, S8: a journal that has seen any history, however told', () => {
  it(
    'ends with the objects of the cluster, never returns to an older version, and has a reason for every event',
    { timeout: 240_000 },
    async () => {
      await fc.assert(
        fc.asyncProperty(steps, async (script) => {
          const cluster = new Cluster()
          await play(cluster, script)

          const objects = await test.db
            .selectFrom('object')
            .selectAll()
            .where('deleted', '=', false)
            .orderBy('name')
            .execute()
          const expected = [...cluster.living.entries()]
            .sort(([left], [right]) => left - right)
            .map(([, { uid, version, status }]) => ({ uid, version, status }))
          expect(
            objects.map(({ uid, resource_version, projection }) => ({
              uid,
              version: resource_version,
              status: projection['status'],
            })),
          ).toEqual(expected)

          const rows = await test.db.selectFrom('watch_event').selectAll().orderBy('seq').execute()
          expect(rows.every(({ reason }) => reason !== null && reason !== '')).toBe(true)
          neverBack(rows)
          const journaled = new Set(rows.map(({ uid, resource_version }) => `${uid} ${resource_version}`))
          for (const { uid = '', version } of cluster.living.values()) expect(journaled).toContain(`${uid} ${version}`)

          const wakes = new Map(
            (await test.db.selectFrom('wake').selectAll().execute()).map(({ uid, seq }) => [uid, seq]),
          )
          for (const { uid, seq } of rows.filter(({ outcome }) => outcome === 'wake'))
            expect(wakes.get(uid)).toBeGreaterThanOrEqual(seq)
        }),
        { numRuns: 60, plugins: [fc.beforeEach(clear)] },
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
          for (const { own, first } of changes) {
            const { type, task } = cluster.change(0, true)
            if (own)
              await journalEvents(
                test.db,
                { cluster: 'c', source: 'write', writer: `task/${task.uid ?? ''}/j`, events: [seen(type, task)] },
                deps,
              )
            const told = cluster.history.map((happened) => seen(happened.type, happened.task))
            // Each delivery repeats all events since the start.
            if (first) await journalEvents(test.db, { cluster: 'c', source: 'watch', events: told }, deps)
          }
          await journalEvents(
            test.db,
            { cluster: 'c', source: 'watch', events: cluster.history.map(({ type, task }) => seen(type, task)) },
            deps,
          )
          const [wake] = await test.db.selectFrom('wake').selectAll().execute()
          expect(wake?.foreign_event).toBe(changes.some(({ own }) => !own))
        },
      ),
      { numRuns: 40, plugins: [fc.beforeEach(clear)] },
    )
  })
})
