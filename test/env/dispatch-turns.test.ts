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
  const options = { slots: SLOTS, leaseMs: 10_000, idleMs, wokenSlotMs: 600_000 }
  dispatcher = createDispatcher(test, temporal(), { inFlightRuns, registry }, options)
  running = dispatcher.run()
}
afterEach(async () => {
  dispatcher.stop()
  await running
  for (const { workflow_id } of await runs()) await temporal().workflow.getHandle(workflow_id).terminate()
})

/** Items without an owner, each with a job that requests a run of this controller. */
async function ask(namespace: string, count: number, controller = 'deploy'): Promise<void> {
  const uids = Array.from({ length: count }, () => randomUUID())
  await journalObjects(
    test,
    uids.map((uid) => ({ uid, namespace, version: 1, status: { jobID: randomUUID() } })),
  )
  await storeWakes(...uids.map((uid) => wakeRow(uid, { controller, namespace })))
}

const storeWakes = async (...wakes: readonly NewWake[]) => await upsertWakes(test.db, wakes, now())
const runs = async () => await test.rows('job', 'workflow_id', 'namespace', 'uid', 'job_id', 'name')
type Run = Awaited<ReturnType<typeof runs>>[number]
/** A wake of the run that may not start another one. */
const wakeOf = ({ uid, job_id, name }: Run) =>
  wakeRow(uid, { job_id, name, namespace: 'crowd', seq: 2, may_start: false })
/** A pass in this process: its first activity shows it. */
const passHere = (workflowID: string) => inFlightRuns.callStarted(workflowID)
/** A pass in another process: the row of the run shows it. */
const passElsewhere = async (...workflowIDs: readonly string[]) =>
  await countPasses(
    test.db,
    workflowIDs.map((workflowID) => ({ workflowID, runID: 'r' })),
    now(),
  )

const namespaces = async () => (await runs()).map(({ namespace }) => namespace).toSorted()
const crowd = (count: number) => Array.from({ length: count }, () => 'crowd')
const untilLeft = async (count: number) => {
  await expect.poll(async () => (await test.wakes()).length, { timeout: 30_000 }).toBe(count)
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
    await passElsewhere((await runs())[0]!.workflow_id)
    await untilStarted(['alone', ...crowd(FRESH)])
    passHere((await runs()).find(({ namespace }) => namespace === 'alone')!.workflow_id)
    await untilStarted(['alone', ...crowd(FRESH + 1)])
  })

  it('does not delay wakes that start no run', async () => {
    await ask('crowd', CROWD)
    start()
    await untilStarted(crowd(FRESH))
    await storeWakes(wakeRow('gone', { namespace: 'crowd', may_start: false }))
    dispatcher.notify()
    const isThere = async () => (await test.wakes()).some(({ uid }) => uid === 'gone')
    // After MAX_WAIT_MS more runs are started anyway (capacity.ts R2).
    await expect.poll(isThere, { timeout: 8000 }).toBe(false)
    expect(await namespaces()).toEqual(crowd(FRESH))
  })
})

describe('signalled runs', () => {
  it('keep a slot each until their next pass, in this or another process', async () => {
    await ask('crowd', CROWD)
    start()
    const begun = new Set<string>()
    while (begun.size < CROWD) {
      await expect.poll(async () => (await runs()).length, { timeout: 30_000 }).toBeGreaterThan(begun.size)
      const fresh = (await runs()).map(({ workflow_id }) => workflow_id).filter((id) => !begun.has(id))
      await passElsewhere(...fresh)
      for (const id of fresh) {
        passHere(id)
        begun.add(id)
      }
    }
    await untilLeft(0)

    const open = await runs()
    await storeWakes(...open.map(wakeOf))
    dispatcher.notify()
    await untilLeft(CROWD - SLOTS)
    const waiting = new Set((await test.wakes()).map(({ uid }) => uid))
    const [here, elsewhere] = open.filter(({ uid }) => !waiting.has(uid))
    passHere(here!.workflow_id)
    await untilLeft(CROWD - SLOTS - 1)
    await passElsewhere(elsewhere!.workflow_id)
    await untilLeft(CROWD - SLOTS - 2)
  })

  it('leave no free slot without a claim next to wakes of in-flight runs', async () => {
    await ask('crowd', 1)
    // With a long idle time, the dispatcher claims only after notifications and deliveries.
    start(builtInRegistry, 600_000)
    await untilStarted(crowd(1))
    const [open] = await runs()
    await passElsewhere(open!.workflow_id)
    passHere(open!.workflow_id)
    await untilLeft(0)
    // Wakes of one run, which is signalled once, and of deleted objects; more than there are slots.
    const gone = Array.from({ length: 3 * SLOTS }, (_, index) => wakeOf({ ...open!, uid: `gone-${index}` }))
    await storeWakes(wakeOf(open!), ...gone)
    dispatcher.notify()
    await untilLeft(0)
  })
})

describe('a controller with very many waiting objects', () => {
  const { apiVersion, kind } = deployItemKind
  const target = { apiVersion, kind, plural: 'deployitems' }
  const bounded = (name: string) => defineLevel({ name, target, queries: {}, plan: nop, settings: { passes: 20 } })
  const registry = createRegistry([bounded('shop'), bounded('till')])

  it.each([
    ['one without a bound', 'deploy', 'one that bounds its passes', 'shop'],
    ['one that bounds its passes', 'shop', 'one without a bound', 'deploy'],
    ['one that bounds its passes', 'shop', 'another that does', 'till'],
  ])('alternates with other controllers: %s (%s) with %s (%s)', async (_, crowded, __, other) => {
    await ask('crowd', CROWD, crowded)
    start(registry)
    await untilStarted(crowd(FRESH))
    await ask('other', CROWD, other)
    const [first, second] = await runs()
    passHere(first!.workflow_id)
    await untilStarted([...crowd(FRESH), 'other'])
    passHere(second!.workflow_id)
    await untilStarted([...crowd(FRESH + 1), 'other'])
  })
})
