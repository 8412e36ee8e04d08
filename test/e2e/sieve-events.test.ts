// Tests a bridge that misses events, receives them twice, or receives those of one kind much later, while a job and a
// deletion run: patterns of Sieve (OSDI '22). The result equals that of an undisturbed run, object by object, with the
// same number of creations, deletions and triggers (S9), and afterwards no wake and no open run remains (S10).
// Source: spec/engine.md 4.2; docs/faults.md.

import { afterAll, afterEach, beforeAll, describe, expect, inject, it, vi } from 'vitest'
import { FINALIZER, installation, type LsObject, waitingItem } from '../support/cluster/cluster.ts'
import { type Course, install, runBoth, uninstall } from '../support/faults/course.ts'
import { waitUntilJournalIdle, closeLane, type Lane, openLane, runUndisturbed } from '../support/faults/lane.ts'
import { Gate } from '../support/faults/gate.ts'
import { bookmarkOf, eventIn, type ReadFaults } from '../support/faults/read-faults.ts'
import { byForm, sampleOf } from '../support/matrix/form.ts'
import { PRODUCTION_TASK_TIMEOUTS } from '../support/pawl/stage.ts'

const servers = inject('servers')

// A process may take many seconds to start on a busy machine, and a disturbed job takes longer.
const LIMIT_MS = 240_000
const CONVERGED_MS = byForm(3_000, 60_000)
// The short form delays the events of one kind, chosen by the seed; the long form tries both kinds.
const LATE = sampleOf('events of one kind that arrive last', ['executions', 'deployitems'], 1)

let lane: Lane
let expected: readonly Course[]

beforeAll(async () => {
  expected = await runUndisturbed('sieve', servers, (own) => runBoth(own, 'undisturbed'))
  lane = await openLane('sieve', servers, { workerFlags: PRODUCTION_TASK_TIMEOUTS })
}, LIMIT_MS)
afterEach(() => {
  lane.bridgeProxy.reads = {}
})
afterAll(() => closeLane(lane))

describe('S9, S10: an installation whose watches', { timeout: LIMIT_MS }, () => {
  it('S8: deliver every event twice ends like an undisturbed one', async () => {
    let twice = 0
    lane.bridgeProxy.reads = {
      lines: (_read, line) => {
        twice++
        return [line, line]
      },
    }
    expect(await runBoth(lane, 'twice')).toEqual(expected)
    expect(twice).toBeGreaterThan(10)
  })

  it('S4: restart with a list at every write ends like an undisturbed one', async () => {
    let expired = 0
    const disturb = () => {
      expired += lane.bridgeProxy.expireWatches()
      return undefined
    }
    expect(await runBoth(lane, 'expired', disturb)).toEqual(expected)
    expect(expired).toBeGreaterThan(5)
  })

  it.each(LATE)('S7: deliver events of its %s only after the job ends like an undisturbed one', async (plural) => {
    let late = 0
    const [job, deletion] = [new Gate(), new Gate()]
    const after = (gate: Gate): ReadFaults => ({
      async lines(read, line) {
        if (read.plural !== plural || eventIn(line).type === 'BOOKMARK') return [line]
        late++
        await gate.opened
        return [line]
      },
    })
    lane.bridgeProxy.reads = after(job)
    const courses: Course[] = []
    lane.proxy.arm()
    courses.push(await install(lane, `late-${plural}`))
    job.open()
    lane.bridgeProxy.reads = after(deletion)
    lane.proxy.arm()
    courses.push(await uninstall(lane, `late-${plural}`))
    deletion.open()
    expect(courses).toEqual(expected)
    expect(late).toBeGreaterThan(0)
  })
})

describe('S9, S10: an installation whose runs', { timeout: LIMIT_MS }, () => {
  it('S8: receive two more signals at each kind of write ends like an undisturbed one', async () => {
    let signals = 0
    const met = new Set<string>()
    const disturb = async (label: string) => {
      // A signal makes Temporal reject the completion of the workflow task, and the worker repeats all writes of the
      // task. So only the first write of each kind sends signals.
      if (!met.has(label)) signals += await signalOpenRuns()
      met.add(label)
      return undefined
    }
    expect(await runBoth(lane, 'signalled', disturb)).toEqual(expected)
    expect(signals).toBeGreaterThan(10)
  })
})

describe('S4: an installation that is deleted and recreated without an event', { timeout: LIMIT_MS }, () => {
  it('has its own job if the first installation was never observed', async () => {
    const { cluster, bridgeProxy, pawl } = lane
    const gate = holdAll()
    const first = await cluster.create(installation('unseen', []), 'installations')
    await cluster.delete('installations', 'unseen')
    await cluster.create(installation('unseen', [{ name: 'a' }]), 'installations')
    bridgeProxy.expireWatches()
    gate.open()
    const second = await cluster.waitUntilFinished('unseen')
    await waitUntilJournalIdle(lane)
    expect(second.status?.phase).toBe('Succeeded')
    expect(await rowsOf(first)).toEqual({ jobs: [], events: [] })
    expect(await pawl.jobs(second)).toMatchObject([{ jobID: second.status?.jobID, outcome: 'Succeeded' }])
  })

  it('ends its job and has another one if no deletion was observed', async () => {
    const { cluster, bridgeProxy, pawl } = lane
    const name = 'replaced'
    const first = await cluster.create(installation(name, [waitingItem('slow')]), 'installations')
    const isWaiting = (one?: LsObject) => one?.status?.phase === 'Progressing' && one.status.jobID !== undefined
    const items = await cluster.waitUntilItems(name, ['slow'], isWaiting)
    await cluster.waitUntil('installations', name, isWaiting)
    const gate = holdAll()
    const former = [
      ['installations', name],
      ['executions', name],
      ['deployitems', items.get('slow')!.metadata.name],
    ] as const
    for (const [plural, one] of former) await goneByHand(plural, one)
    await cluster.create(installation(name, [waitingItem('slow')]), 'installations')
    bridgeProxy.expireWatches()
    gate.open()

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
      await signalOpenRuns()
      await waitUntilJournalIdle(lane)
    }
    expect(proxy.writes.slice(before)).toEqual([])
  })
})

describe('S4: an installation whose watches deliver no events', { timeout: LIMIT_MS }, () => {
  it('continues by periodic lists and ends like an undisturbed one', async () => {
    const flags = { workerFlags: PRODUCTION_TASK_TIMEOUTS, bridgeFlags: ['--relist-ms', '1500'] }
    const own = await openLane('unheard', servers, flags)
    try {
      let lost = 0
      own.bridgeProxy.reads = {
        lines: (_read, line) => (eventIn(line).type === 'BOOKMARK' ? [line] : (lost++, [bookmarkOf(line)])),
      }
      expect(await runBoth(own, 'unheard')).toEqual(expected)
      expect(lost).toBeGreaterThan(5)
    } finally {
      await closeLane(own)
    }
  })
})

/** The journal's rows about an object. */
async function rowsOf({ metadata: { uid = '' } }: LsObject) {
  const { db } = lane.pawl
  const [jobs, events] = await Promise.all([
    db.selectFrom('job').select('workflow_id').where('uid', '=', uid).execute(),
    db.selectFrom('watch_event').select('seq').where('uid', '=', uid).execute(),
  ])
  return { jobs, events }
}

/** Holds all events of the bridge's watches. */
function holdAll(): Gate {
  const gate = new Gate()
  lane.bridgeProxy.reads = {
    async lines(_read, line) {
      await gate.opened
      return [line]
    },
  }
  return gate
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

/** Signals each open run twice. @returns the number of signals. */
async function signalOpenRuns(): Promise<number> {
  const { db, client } = lane.pawl
  const open = await db.selectFrom('job').select('workflow_id').where('outcome', 'is', null).execute()
  const signals = open.flatMap(({ workflow_id }) => {
    const run = client.workflow.getHandle(workflow_id)
    return [1, 2].map(
      async () =>
        await run
          .signal('wake', { seq: 0 })
          .then(() => 1)
          .catch(() => 0),
    )
  })
  return (await Promise.all(signals)).reduce<number>((sum, one) => sum + one, 0)
}

/** The number of lists of all kinds together. */
async function epochSum(): Promise<number> {
  const rows = await lane.pawl.db.selectFrom('watch_checkpoint').select('epoch').execute()
  return rows.reduce((sum, { epoch }) => sum + epoch, 0)
}
