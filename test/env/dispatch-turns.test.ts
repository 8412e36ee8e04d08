// Namespaces take turns, and few runs are started that have not begun: against a real PostgreSQL and a real Temporal. No worker runs.

import { Client } from '@temporalio/client'
import { NativeConnection } from '@temporalio/worker'
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest'
import { countPasses } from '../../activities/journal/write/jobs.ts'
import { journalEvents } from '../../activities/journal/write/events.ts'
import { upsertWakes } from '../../activities/journal/write/wakes.ts'
import { InFlightRuns } from '../../activities/run/in-flight-runs.ts'
import { builtInRegistry, createRegistry } from '../../worker/server/registry.ts'
import { createLogger } from '../../worker/server/log.ts'
import { Dispatcher } from '../../worker/reconciler/dispatcher.ts'
import { defineLevel, nop } from '../../workflows/kit/index.ts'
import { deployItemKind } from '../../workflows/landscaper/deploy-item/kind.ts'
import { deps, seen } from '../activities/journal/build-events.ts'
import { useJournal } from '../activities/journal/use-journal.ts'

const test = useJournal(inject('servers').databaseUrl)
let connection: NativeConnection
beforeAll(async () => {
  connection = await NativeConnection.connect({ address: inject('servers').temporalAddress })
})
afterAll(async () => {
  await connection.close()
})

const CROWD = 30
const FRESH = 6
const SLOTS = 20
const now = () => new Date()
const inFlightRuns = new InFlightRuns(now)

let dispatcher: Dispatcher
let running: Promise<void>
function start(registry = builtInRegistry, idleMs = 50): void {
  dispatcher = new Dispatcher(
    {
      db: test.db,
      asyncCommitDb: test.db,
      client: new Client({ connection }),
      now,
      inFlightRuns,
      registry,
      log: createLogger('test', 'silent'),
      report: () => undefined,
    },
    {
      owner: 'd',
      cluster: 'c',
      slots: SLOTS,
      leaseMs: 10_000,
      idleMs,
      wokenSlotMs: 600_000,
      taskQueue: `none-${randomUUID()}`,
      controllers: undefined,
      workflowTaskTimeoutMs: 10_000,
    },
  )
  running = dispatcher.run()
}
afterEach(async () => {
  dispatcher.stop()
  await running
  const client = new Client({ connection })
  for (const { workflow_id } of await started()) await client.workflow.getHandle(workflow_id).terminate()
})

/** Items that nobody hosts, each with a job that asks for a run of this controller. */
async function ask(namespace: string, count: number, controller = 'deploy'): Promise<void> {
  const items = Array.from({ length: count }, () => ({ uid: randomUUID(), namespace }))
  const events = items.map((item) =>
    seen(
      'ADDED',
      { ...item, version: 1, spec: { type: 'landscaper.gardener.cloud/mock' }, status: { jobID: randomUUID() } },
      deployItemKind,
    ),
  )
  await journalEvents(
    test.db,
    { cluster: 'c', source: 'watch', events },
    { ...deps, route: () => ({ ignored: 'set-up' }) },
  )
  const wakes = items.map(({ uid }) => ({
    controller,
    uid,
    job_id: '',
    cluster: 'c',
    namespace,
    name: `task-${uid}`,
    seq: 1,
    due: now(),
    foreign_event: true,
    may_start: true,
    writer: null,
    cause: 'test',
  }))
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

describe('a namespace that asks for very many jobs', () => {
  it('has few started that have not begun, and then it is the turn of the others', async () => {
    await ask('crowd', CROWD)
    start()
    await untilStarted(crowd(FRESH))
    await ask('alone', 1)
    dispatcher.notify()
    // One of them begins, in another process: its row says so.
    const [first] = await started()
    await countPasses(test.db, [{ workflowID: first!.workflow_id, runID: 'r' }], now())
    await untilStarted(['alone', ...crowd(FRESH)])
    // Here its first activity is seen.
    inFlightRuns.callStarted((await started()).find(({ namespace }) => namespace === 'alone')!.workflow_id)
    await untilStarted(['alone', ...crowd(FRESH + 1)])
  })

  it('does not hold up wakes that begin nothing', async () => {
    await ask('crowd', CROWD)
    start()
    await untilStarted(crowd(FRESH))
    const wake = { controller: 'deploy', uid: 'gone', job_id: '', cluster: 'c', namespace: 'crowd', name: 'gone' }
    const marks = { seq: 1, due: now(), foreign_event: true, may_start: false, writer: null, cause: 'test' }
    await upsertWakes(test.db, [{ ...wake, ...marks }], now())
    dispatcher.notify()
    const isThere = async () =>
      (await test.db.selectFrom('wake').select('uid').where('uid', '=', 'gone').execute()).length
    // After ten seconds more are started anyway (fresh-runs.ts R2).
    await expect.poll(isThere, { timeout: 8000 }).toBe(0)
    expect(await namespaces()).toEqual(crowd(FRESH))
  })
})

describe('runs that are woken', () => {
  it('keep a slot each until they look, here or in another process', async () => {
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
    const wakes = jobs.map(({ uid, job_id, name }) => ({
      controller: 'deploy',
      uid,
      job_id,
      cluster: 'c',
      namespace: 'crowd',
      name,
      seq: 2,
      due: now(),
      foreign_event: true,
      may_start: false,
      writer: null,
      cause: 'test',
    }))
    await upsertWakes(test.db, wakes, now())
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

describe('runs that are woken, beside wakes of runs that are at work', () => {
  it('leave no free slot without a look', async () => {
    await ask('crowd', 1)
    // It looks when it is told to, and when something of what it has in hand is over.
    start(builtInRegistry, 600_000)
    await untilStarted(crowd(1))
    const [open] = await test.db.selectFrom('job').select(['uid', 'job_id', 'workflow_id', 'name']).execute()
    await countPasses(test.db, [{ workflowID: open!.workflow_id, runID: 'r' }], now())
    inFlightRuns.callStarted(open!.workflow_id)
    await untilLeft(0)
    // Of one run, which is woken once, and of objects that lead to nothing; more than there are slots.
    const wake = (uid: string, name: string) => ({
      controller: 'deploy',
      uid,
      job_id: uid === open!.uid ? open!.job_id : '',
      cluster: 'c',
      namespace: 'crowd',
      name,
      seq: 2,
      due: now(),
      foreign_event: true,
      may_start: false,
      writer: null,
      cause: 'test',
    })
    const gone = Array.from({ length: 3 * SLOTS }, (_, index) => wake(`gone-${index}`, `gone-${index}`))
    await upsertWakes(test.db, [wake(open!.uid, open!.name), ...gone], now())
    dispatcher.notify()
    await untilLeft(0)
  })
})

describe('a controller for which very many objects wait', () => {
  const { apiVersion, kind } = deployItemKind
  const target = { apiVersion, kind, plural: 'deployitems' }
  const bounded = (name: string) => defineLevel({ name, target, queries: {}, plan: nop, settings: { passes: 20 } })
  const registry = createRegistry([bounded('shop'), bounded('till')])
  /** One more of the crowd's runs begins. */
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
  ])('takes turns with others: %s (%s) with %s (%s)', async (_, crowded, __, other) => {
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
