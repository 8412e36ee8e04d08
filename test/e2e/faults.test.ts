// Tests a job and a deletion during which a server fails: the API server, or the connections to the journal. The
// results equal those of an undisturbed job and deletion, object by object, and no creation, deletion or trigger
// happens twice. Source: spec/engine.md 4.4; docs/faults.md.

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { API_FAULTS } from '../support/faults/api-faults.ts'
import { connectionFaults } from '../support/faults/connection-faults.ts'
import { type Course, runBoth } from '../support/faults/course.ts'
import { expectSameCourse, type Fault } from '../support/faults/fault.ts'
import { closeLane, type Lane, openLane } from '../support/faults/lane.ts'
import { sampleOf } from '../support/matrix/form.ts'
import { PRODUCTION_TASK_TIMEOUTS } from '../support/pawl/stage.ts'

const servers = inject('servers')

// A process may take many seconds to start on a busy machine.
const LIMIT_MS = 240_000

let lane: Lane
let expected: readonly Course[]

beforeAll(async () => {
  // No worker is killed here: a workflow task that times out would only add refused writes.
  lane = await openLane('faults', servers, { workerFlags: PRODUCTION_TASK_TIMEOUTS })
  expected = await runBoth(lane, 'undisturbed')
}, LIMIT_MS)
afterAll(() => closeLane(lane))

function titled(matrix: string, faults: readonly Fault[], count: number) {
  return sampleOf(matrix, faults, count).map((fault) => [fault.title, fault] as const)
}

/** Each case has its own Installation, whose name contains this number. */
let cases = 0
async function run(_title: string, fault: Fault): Promise<void> {
  await expectSameCourse(lane, fault, `fault-${++cases}`, expected)
}

it('a course that nothing disturbs runs one job and one deletion, and leaves no object', () => {
  expect(expected).toMatchObject([{ jobIDs: 1 }, { state: [], jobIDs: 2 }])
})

describe('T4, S8: an installation whose journal', { timeout: LIMIT_MS }, () => {
  it.each(titled('faults: journal connections', connectionFaults(servers.databaseUrl), 1))(
    '%s ends like any other',
    run,
  )
})

describe('T10: an installation whose API server', { timeout: LIMIT_MS }, () => {
  it.each(titled('faults: API server', API_FAULTS, 3))('%s ends like any other', run)
})
