// Tests a job and a deletion during which a server fails: the API server, its watches, the connections to the journal,
// or Temporal. The results equal those of an undisturbed job and deletion, object by object, no creation, deletion or
// trigger happens twice (S9), and no wake and no open run is left (S10). Source: spec/engine.md 4.2, 4.4;
// docs/concepts/faults.md.

import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { CHAIN, FINALIZER, installation, type LsObject, waitingItem } from '../support/cluster/cluster.ts'
import { API_FAULTS, WATCH_FAULTS } from '../support/faults/api-faults.ts'
import { journalFaults, signalOpenRuns } from '../support/faults/connection-faults.ts'
import { type Course, install, runBoth, uninstall } from '../support/faults/course.ts'
import { expectSameCourse, type Fault } from '../support/faults/fault.ts'
import { Gate } from '../support/faults/gate.ts'
import { closeLane, type Lane, openLane, RESTART_MS, waitUntilJournalIdle } from '../support/faults/lane.ts'
import { Rival } from '../support/faults/rival.ts'
import { OwnTemporal, temporalFaults } from '../support/faults/temporal-faults.ts'
import { byForm, sampleOf } from '../support/matrix/form.ts'
import { readiness } from '../support/pawl/pawl.ts'
import { PRODUCTION_TASK_TIMEOUTS } from '../support/pawl/stage.ts'

const servers = inject('servers')

// A process may take many seconds to start on a busy machine.
const LIMIT_MS = 240_000
const CONVERGED_MS = byForm(3_000, 60_000)

let temporal: OwnTemporal
let lane: Lane
let expected: readonly Course[]

beforeAll(async () => {
  temporal = await OwnTemporal.start(servers.temporalBinary)
  const own = { ...servers, temporalAddress: temporal.address }
  // No worker is killed here: a workflow task that times out would only add refused writes.
  lane = await openLane('faults', own, { workerFlags: PRODUCTION_TASK_TIMEOUTS })
  expected = await runBoth(lane, 'undisturbed')
}, LIMIT_MS)
afterEach(() => {
  lane.bridgeProxy.reads = {}
})
afterAll(async () => {
  await closeLane(lane)
  await temporal.remove()
}, LIMIT_MS)

it('a course that nothing disturbs runs one job and one deletion, and leaves no object', () => {
  expect(expected).toMatchObject([{ jobIDs: 1 }, { state: [], jobIDs: 2 }])
})

let cases = 0

/** Runs a sample of the faults, each with its own Installation. */
function endsLikeAnyOther(matrix: string, faults: readonly Fault[], count: number): void {
  it.each(sampleOf(matrix, faults, count).map((fault) => [fault.title, fault] as const))(
    '%s ends like any other',
    async (_title, fault) => await expectSameCourse(lane, fault, `fault-${++cases}`, expected),
  )
}

describe('T4, S8: an installation whose journal', { timeout: LIMIT_MS }, () => {
  endsLikeAnyOther('faults: journal connections', journalFaults(servers.databaseUrl), 1)
})

describe('T10: an installation whose API server', { timeout: LIMIT_MS }, () => {
  endsLikeAnyOther('faults: API server', API_FAULTS, 2)
})

describe('S4, S7, S8, S9, S10: an installation whose watches', { timeout: LIMIT_MS }, () => {
  endsLikeAnyOther('faults: watches', WATCH_FAULTS, 2)
})

describe('T2: an installation whose Temporal', { timeout: LIMIT_MS }, () => {
  const faults = temporalFaults(() => temporal)
  endsLikeAnyOther('faults: Temporal', faults, 1)

  it('is away and comes back empty continues its job, and the job that was requested meanwhile starts', async () => {
    const { cluster, pawl } = lane
    lane.proxy.arm()
    const items = [waitingItem('slow'), { name: 'next', dependsOn: ['slow'] }]
    await cluster.create(installation('before', items), 'installations')
    const running = await cluster.waitUntilItems('before', ['slow'], (item) => item?.status?.phase === 'Progressing')
    const slow = running.get('slow')!

    await temporal.stop()
    await cluster.create(installation('meanwhile', CHAIN), 'installations')
    await cluster.finishItem(slow, 'Succeeded')
    await expect.poll(() => readiness(pawl.log('worker')), { timeout: RESTART_MS }).toBe(503)
    await temporal.startAgain('empty')

    const before = await cluster.waitUntilFinished('before', undefined, 'installations', RESTART_MS)
    const meanwhile = await cluster.waitUntilFinished('meanwhile', undefined, 'installations', RESTART_MS)
    expect(before.status).toMatchObject({ phase: 'Succeeded', jobID: slow.status?.jobID })
    expect(meanwhile.status).toMatchObject({ phase: 'Succeeded' })
    for (const root of [before, meanwhile])
      expect(await pawl.jobs(root)).toMatchObject([{ jobID: root.status?.jobID, outcome: 'Succeeded' }])
    await expect.poll(() => readiness(pawl.log('worker')), { timeout: RESTART_MS }).toBe(200)
  })
})

// Source: seeds/chaos-mesh-controller-rules.txt "Handle the conflict in an easier way".
describe('an installation to whose objects another client writes before each write of Pawl', () => {
  it('ends like any other, with one conflict for each write; nothing that the other client has written is lost', async () => {
    const { cluster, pawl, proxy } = lane
    const rival = new Rival(cluster)
    const runs: Course[] = []
    for (const run of [install, uninstall]) {
      const before = rival.struck
      proxy.arm(undefined, async (label, _nth, path) => await rival.strike(label, path))
      runs.push(await run(lane, 'contested'))
      const conflicts = proxy.writes.filter(({ status }) => status === 409)
      expect(conflicts.length).toBe(rival.struck - before)
      expect(conflicts.length).toBeGreaterThan(5)
      if (run === uninstall) break
      const root = await cluster.get('installations', 'contested')
      const execution = await cluster.get('executions', 'contested')
      const items = await cluster.items('contested')
      expect([root!, execution!, ...items.values()].flatMap((object) => rival.lost(object))).toEqual([])
    }
    // The content of the objects differs by the writes of the other client.
    expect(runs.map((run) => ({ ...run, state: [] }))).toEqual(expected.map((run) => ({ ...run, state: [] })))
    const jobs = await pawl.db.selectFrom('job').select('attempt').where('name', '=', 'contested').execute()
    expect(jobs.filter(({ attempt }) => attempt > 0)).toEqual([])
  })
})

describe('S4: an installation that is deleted and recreated without an event', { timeout: LIMIT_MS }, () => {
  it('has its own job if the first installation was never observed', async () => {
    const { cluster, pawl } = lane
    const deliver = holdEvents()
    const first = await cluster.create(installation('unseen', []), 'installations')
    await cluster.delete('installations', 'unseen')
    await cluster.create(installation('unseen', [{ name: 'a' }]), 'installations')
    deliver()
    const second = await cluster.waitUntilFinished('unseen')
    await waitUntilJournalIdle(lane)
    expect(second.status?.phase).toBe('Succeeded')
    expect(await pawl.jobs(second)).toMatchObject([{ jobID: second.status?.jobID, outcome: 'Succeeded' }])
    for (const table of ['job', 'watch_event'] as const)
      expect(await pawl.db.selectFrom(table).select('uid').where('uid', '=', first.metadata.uid!).execute()).toEqual([])
  })

  it('ends its job and has another one if no deletion was observed', async () => {
    const { cluster, pawl } = lane
    const name = 'replaced'
    const first = await cluster.create(installation(name, [waitingItem('slow')]), 'installations')
    const isWaiting = (one?: LsObject) => one?.status?.phase === 'Progressing' && one.status.jobID !== undefined
    const items = await cluster.waitUntilItems(name, ['slow'], isWaiting)
    await cluster.waitUntil('installations', name, isWaiting)
    const deliver = holdEvents()
    await goneByHand('installations', name)
    await goneByHand('executions', name)
    await goneByHand('deployitems', items.get('slow')!.metadata.name)
    await cluster.create(installation(name, [waitingItem('slow')]), 'installations')
    deliver()

    const isNew = (one?: LsObject) => isWaiting(one) && one?.metadata.uid !== items.get('slow')!.metadata.uid
    const again = await cluster.waitUntilItems(name, ['slow'], isNew)
    await cluster.finishItem(again.get('slow')!, 'Succeeded')
    const second = await cluster.waitUntilFinished(name)
    await waitUntilJournalIdle(lane)
    expect(second.status?.phase).toBe('Succeeded')
    expect(second.metadata.uid).not.toBe(first.metadata.uid)
    expect(await pawl.jobs(second)).toMatchObject([{ jobID: second.status?.jobID, outcome: 'Succeeded' }])
    expect(await pawl.jobs(first)).toHaveLength(1)
  })
})

describe('T12: a converged installation', { timeout: LIMIT_MS }, () => {
  it('is not written after repeated events', async () => {
    const { proxy, bridgeProxy } = lane
    bridgeProxy.reads = { lines: (_read, line) => [line, line] }
    proxy.arm()
    await install(lane, 'converged')
    const before = proxy.writes.length
    const until = Date.now() + CONVERGED_MS
    for (let lists = 0; lists < 3 || Date.now() < until; lists++) {
      const epochs = await epochSum()
      bridgeProxy.expireWatches()
      // At least one more list of each of the three kinds that have objects.
      await vi.waitFor(async () => expect(await epochSum()).toBeGreaterThanOrEqual(epochs + 3), { timeout: 60_000 })
      await signalOpenRuns(lane)
      await waitUntilJournalIdle(lane)
    }
    expect(proxy.writes.slice(before)).toEqual([])
  })
})

/** Holds all events of the bridge's watches. @returns a function that ends the watches, so that the bridge lists, and delivers the events. */
function holdEvents(): () => void {
  const gate = new Gate()
  lane.bridgeProxy.reads = {
    async lines(_read, line) {
      await gate.opened
      return [line]
    },
  }
  return () => {
    lane.bridgeProxy.expireWatches()
    gate.open()
  }
}

/** Deletes an object and removes its finalizers, like a user who does not wait for Pawl. */
async function goneByHand(plural: string, name: string): Promise<void> {
  const { cluster } = lane
  await cluster.delete(plural, name)
  const found = await cluster.get(plural, name)
  if (found?.metadata.finalizers?.includes(FINALIZER) === true)
    await cluster.patch(plural, name, { metadata: { finalizers: null } })
  await cluster.waitUntilGone(name, plural)
}

/** The number of lists of all kinds together. */
async function epochSum(): Promise<number> {
  const rows = await lane.pawl.db.selectFrom('watch_checkpoint').select('epoch').execute()
  return rows.reduce((sum, { epoch }) => sum + epoch, 0)
}
