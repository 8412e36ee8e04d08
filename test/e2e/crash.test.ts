// A process is killed at each write of a job and of a deletion, before and after the server has done it, and started again.
// What comes out is what comes out of an undisturbed run, object by object, and no creation, deletion or trigger happened twice.
//
// Each run has one crash in its job and one in its deletion. A few lanes run in parallel. CI runs a sample (docs/test-matrices.md).

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import {
  type Course,
  type Crash,
  crashed,
  install,
  type Lane,
  LanePool,
  openLane,
  pointsOf,
  undisturbedOn,
  uninstall,
  withoutSettles,
} from '../support/crash.ts'
import { byForm, sampleOf } from '../support/matrix/form.ts'

const servers = inject('servers')

// More would only wait for the two cores.
const LANES = byForm(3, 4)
// A run takes seconds; on a busy machine a process takes many to start. More runs are begun than there are lanes: the wait for one counts.
const LIMIT_MS = 480_000

// Every write of the reference scenario; the undisturbed run checks that there are no others.
const JOB_WRITES = pointsOf([
  'PATCH installations/status',
  'PATCH installations',
  'POST executions',
  'POST deployitems',
  'POST deployitems',
  'POST secrets',
  'PATCH deployitems/status',
  'PATCH deployitems/status',
  'POST dataobjects',
  'PATCH executions/status',
  'PATCH installations/status',
])
const DELETION_WRITES = pointsOf([
  'PATCH installations/status',
  'DELETE executions',
  'DELETE deployitems',
  'DELETE deployitems',
  'PATCH deployitems',
  'PATCH deployitems',
  'PATCH executions',
  'PATCH installations',
])

interface Run {
  readonly title: string
  readonly name: string
  readonly job: Crash
  readonly deletion: Crash
}

const ALL: readonly Run[] = (['worker', 'bridge'] as const).flatMap((part) =>
  (['before', 'after'] as const).flatMap((when) =>
    JOB_WRITES.map((at, index): Run => {
      const job = { part, when, at }
      // The deletion has fewer writes: its first ones come twice, then with the other process.
      const other = part === 'worker' ? 'bridge' : 'worker'
      const deletion = {
        part: index < DELETION_WRITES.length ? part : other,
        when,
        at: DELETION_WRITES[index % DELETION_WRITES.length]!,
      }
      return { title: `${titleOf(job)}, then ${titleOf(deletion)}`, name: `${part}-${when}-${index}`, job, deletion }
    }),
  ),
)

const RUNS = sampleOf('a crash at each write', ALL, 6)

function titleOf({ part, when, at }: Crash): string {
  return `${part} ${when} ${at.label} ${at.nth}`
}

const lanes = new LanePool(() => openLane('crash', servers))
let expected: { readonly job: Course; readonly deletion: Course; readonly writes: readonly string[] }

beforeAll(async () => {
  // A task that is lost to the kill tests' short time-outs would add refused writes.
  expected = await undisturbedOn('crash', servers, undisturbed)
  await lanes.fill(LANES)
}, LIMIT_MS)
afterAll(() => lanes.close())

async function undisturbed(lane: Lane) {
  lane.proxy.arm()
  const job = await install(lane, 'undisturbed')
  const writes = lane.proxy.writes.map(({ label }) => label)
  lane.proxy.arm()
  const deletion = await uninstall(lane, 'undisturbed')
  return { job, deletion, writes: [...writes, ...lane.proxy.writes.map(({ label }) => label)] }
}

describe('an installation that nothing disturbs', () => {
  it('makes the writes at which others are interrupted, and no more', () => {
    expect([...expected.writes].sort()).toEqual([...JOB_WRITES, ...DELETION_WRITES].map(({ label }) => label).sort())
  })

  it('runs one job and one deletion, and leaves nothing', () => {
    expect(expected.job.runs).toEqual(['installation: Succeeded'])
    expect(expected.deletion).toMatchObject({ state: [], jobIDs: 2 })
  })
})

describe.concurrent('S1, S9, S10: an installation whose process is killed', () => {
  it.each(RUNS.map((run) => [run.title, run] as const))(
    'ends like any other: %s',
    async (_title, { name, job, deletion }) => {
      await lanes.use(async (lane) => {
        const installed = await crashed(lane, job, () => install(lane, name))
        const uninstalled = await crashed(lane, deletion, () => uninstall(lane, name))
        // A fault on the way may add a settle; everything else happens as often as ever.
        const courses = [installed, uninstalled].map(withoutSettles)
        expect(courses).toEqual([expected.job, expected.deletion].map(withoutSettles))
      })
    },
    LIMIT_MS,
  )
})
