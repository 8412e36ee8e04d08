import { randomUUID } from 'node:crypto'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { countPasses } from '../../activities/journal/write/jobs.ts'
import { type NewWake, upsertWakes } from '../../activities/journal/write/wakes.ts'
import { InFlightRuns } from '../../activities/run/in-flight-runs.ts'
import { builtInRegistry, createRegistry } from '../../worker/server/registry.ts'
import type { Dispatcher } from '../../worker/reconciler/dispatcher.ts'
import { defineLevel, nop } from '../../workflows/kit/index.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { useJournal } from '../activities/journal/use-journal.ts'
import { now, useTemporal, createDispatcher, journalObjects, wakeRow } from './dispatch-stage.ts'

const test = useJournal(inject('servers').databaseUrl)
const temporal = useTemporal()

const CROWD = 30
const FRESH = 6
const SLOTS = 20
const inFlightRuns = new InFlightRuns(now)

let dispatcher: Dispatcher
let running: Promise<void>
function start(registry = builtInRegistry, idleMs = 50): void {
  dispatcher = createDispatcher(
    test,
    temporal(),
    { inFlightRuns, registry },
    { slots: SLOTS, leaseMs: 10_000, idleMs, wokenSlotMs: 600_000 },
  )
  running = dispatcher.run()
}
afterEach(async () => {
  dispatcher.stop()
  await running
  const client = temporal()
  for (const { workflow_id } of await started()) await client.workflow.getHandle(workflow_id).terminate()
})

/** Items without an owner, each with a job that requests a run of this controller. */
async function ask(namespace: string, count: number, controller = 'deploy'): Promise<void> {
  const uids = Array.from({ length: count }, () => randomUUID())
  await journalObjects(
    test,
    uids.map((uid) => ({ uid, namespace, version: 1, status: { jobID: randomUUID() } })),
  )
  await storeWakes(uids.map((uid) => wakeRow(uid, { controller, namespace })))
}

async function storeWakes(wakes: readonly NewWake[]): Promise<void> {
  await upsertWakes(test.db, wakes, now())
}

const started = async () =>
  await test.db.selectFrom('job').select(['workflow_id', 'namespace']).orderBy('workflow_id').execute()
const namespaces = async () => (await started()).map(({ namespace }) => namespace).toSorted()
const crowd = (count: number) => Array.from({ length: count }, () => 'crowd')
const left = async () => (await test.db.selectFrom('wake').select('uid').execute()).length
const untilLeft = async (count: number) => {
  await expect.poll(left, { timeout: 30_000 }).toBe(count)
}
const untilStarted = async (wanted: readonly string[]) => {
  await expect.poll(namespaces, { timeout: 30_000 }).toEqual(wanted)
}

describe('a namespace with very many jobs', () => {
  it('has few pending runs, and other namespaces get the next starts', async () => {
    await ask('crowd', CROWD)
    start()
    await untilStarted(crowd(FRESH))
    await ask('alone', 1)
    dispatcher.notify()
    // A pass in another process: the row of the run shows it.
    const [first] = await started()
    await countPasses(test.db, [{ workflowID: first!.workflow_id, runID: 'r' }], now())
    await untilStarted(['alone', ...crowd(FRESH)])
    // A pass in this process: its first activity shows it.
    inFlightRuns.callStarted((await started()).find(({ namespace }) => namespace === 'alone')!.workflow_id)
    await untilStarted(['alone', ...crowd(FRESH + 1)])
  })

  it('does not delay wakes that start no run', async () => {
    await ask('crowd', CROWD)
    start()
    await untilStarted(crowd(FRESH))
    await storeWakes([wakeRow('gone', { namespace: 'crowd', may_start: false })])
    dispatcher.notify()
    const isThere = async () =>
      (await test.db.selectFrom('wake').select('uid').where('uid', '=', 'gone').execute()).length
    // After MAX_WAIT_MS more runs are started anyway (capacity.ts R2).
    await expect.poll(isThere, { timeout: 8000 }).toBe(0)
    expect(await namespaces()).toEqual(crowd(FRESH))
  })
})

describe('signalled runs', () => {
  it('keep a slot each until their next pass, in this or another process', async () => {
    await ask('crowd', CROWD)
    start()
    const begun: string[] = []
    while (begun.length < CROWD) {
      await expect.poll(async () => (await started()).length, { timeout: 30_000 }).toBeGreaterThan(begun.length)
      const fresh = (await started()).map(({ workflow_id }) => workflow_id).filter((id) => !begun.includes(id))
      await countPasses(
        test.db,
        fresh.map((workflowID) => ({ workflowID, runID: 'r' })),
        now(),
      )
      for (const id of fresh) inFlightRuns.callStarted(id)
      begun.push(...fresh)
    }
    await untilLeft(0)

    const jobs = await test.db.selectFrom('job').select(['uid', 'job_id', 'workflow_id', 'name']).execute()
    await storeWakes(
      jobs.map(({ uid, job_id, name }) => wakeRow(uid, { job_id, name, namespace: 'crowd', seq: 2, may_start: false })),
    )
    dispatcher.notify()
    await untilLeft(CROWD - SLOTS)
    const woken = new Set(begun)
    for (const { uid } of await test.db.selectFrom('wake').select('uid').execute())
      woken.delete(jobs.find((job) => job.uid === uid)!.workflow_id)
    const [here = '', elsewhere = ''] = woken
    inFlightRuns.callStarted(here)
    await untilLeft(CROWD - SLOTS - 1)
    await countPasses(test.db, [{ workflowID: elsewhere, runID: 'r' }], now())
    await untilLeft(CROWD - SLOTS - 2)
  })
})

describe('signalled runs next to wakes of in-flight runs', () => {
  it('leave no free slot without a claim', async () => {
    await ask('crowd', 1)
    // With a long idle time, the dispatcher claims only after notifications and deliveries.
    start(builtInRegistry, 600_000)
    await untilStarted(crowd(1))
    const [open] = await test.db.selectFrom('job').select(['uid', 'job_id', 'workflow_id', 'name']).execute()
    await countPasses(test.db, [{ workflowID: open!.workflow_id, runID: 'r' }], now())
    inFlightRuns.callStarted(open!.workflow_id)
    await untilLeft(0)
    // Wakes of one run, which is signalled once, and of deleted objects; more than there are slots.
    const wake = (uid: string, overrides = {}) =>
      wakeRow(uid, { namespace: 'crowd', seq: 2, may_start: false, ...overrides })
    const gone = Array.from({ length: 3 * SLOTS }, (_, index) => wake(`gone-${index}`))
    const { uid, job_id, name } = open!
    await storeWakes([wake(uid, { job_id, name }), ...gone])
    dispatcher.notify()
    await untilLeft(0)
  })
})

describe('a controller with very many waiting objects', () => {
  const { apiVersion, kind } = deployItemKind
  const target = { apiVersion, kind, plural: 'deployitems' }
  const bounded = (name: string) => defineLevel({ name, target, queries: {}, plan: nop, settings: { passes: 20 } })
  const registry = createRegistry([bounded('shop'), bounded('till')])
  /** Starts a pass of one more run of the crowd. */
  const begin = async (begun: string[]) => {
    const next = (await started()).find(
      ({ namespace, workflow_id }) => namespace === 'crowd' && !begun.includes(workflow_id),
    )
    begun.push(next!.workflow_id)
    inFlightRuns.callStarted(next!.workflow_id)
  }

  it.each([
    ['one without a bound', 'deploy', 'one that bounds its passes', 'shop'],
    ['one that bounds its passes', 'shop', 'one without a bound', 'deploy'],
    ['one that bounds its passes', 'shop', 'another that does', 'till'],
  ])('alternates with other controllers: %s (%s) with %s (%s)', async (_, crowded, __, other) => {
    const begun: string[] = []
    await ask('crowd', CROWD, crowded)
    start(registry)
    await untilStarted(crowd(FRESH))
    await ask('other', CROWD, other)
    await begin(begun)
    await untilStarted([...crowd(FRESH), 'other'])
    await begin(begun)
    await untilStarted([...crowd(FRESH + 1), 'other'])
  })
})
