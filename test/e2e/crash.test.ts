// Crash tests: a process is killed or stopped at a write of a job or of a deletion, and started again. All objects must
// be the same as after an undisturbed run, and no creation, deletion or trigger happens twice.
//
// test/support/faults/crashes/ has the tables of cases. `npm test` runs a sample of each, the long form runs all
// (test/matrices.md).

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { CrashCase } from '../support/faults/crash.ts'
import {
  INSTALLATION_CASES,
  type Undisturbed,
  undisturbedInstallation,
  WRITES,
} from '../support/faults/crashes/installation.ts'
import { DEPENDENTS_CASES } from '../support/faults/crashes/dependents.ts'
import { MANIFEST_CASES, type UndisturbedManifests, undisturbedManifests } from '../support/faults/crashes/manifests.ts'
import { RANDOM_CASES } from '../support/faults/crashes/random-templates.ts'
import { stoppedCases } from '../support/faults/crashes/stopped.ts'
import { UNFLUSHED_CASES } from '../support/faults/crashes/unflushed.ts'
import { crashWhileItemsWait } from '../support/faults/crashes/waiting-items.ts'
import { LanePool, openLane, runUndisturbed } from '../support/faults/lane.ts'
import { byForm, sampleOf } from '../support/matrix/form.ts'

const servers = inject('servers')

// Two lanes keep two cores busy.
const LANES = byForm(2, 4)
// A case takes seconds, but it first waits for a lane, and a process starts slowly on a busy machine.
const LIMIT_MS = byForm(480_000, 1_800_000)

const lanes = new LanePool(() => openLane('crash', servers))
let expected: { readonly installation: Undisturbed; readonly manifests: UndisturbedManifests }

beforeAll(async () => {
  // This lane has long time-outs: a workflow task that times out would add a rejected write.
  expected = await runUndisturbed('undisturbed', servers, async (lane) => ({
    installation: await undisturbedInstallation(lane),
    manifests: await undisturbedManifests(lane),
  }))
  await lanes.fill(LANES)
}, LIMIT_MS)
afterAll(() => lanes.close())

function titled<Case extends { readonly title: string }>(matrix: string, cases: readonly Case[], count: number) {
  return sampleOf(matrix, cases, count).map((one) => [one.title, one] as const)
}

describe('an installation that nothing disturbs', () => {
  it('makes the writes at which others are interrupted, and no more', () => {
    expect(expected.installation.writes).toEqual(WRITES)
  })

  it('runs one job and one deletion, and leaves nothing', () => {
    expect(expected.installation.job.runs).toEqual(['installation: Succeeded'])
    expect(expected.installation.deletion).toMatchObject({ state: [], jobIDs: 2 })
  })
})

describe('an execution of manifests that nothing disturbs', () => {
  it('deploys, edits and removes, and its status names the deployed objects', () => {
    expect(expected.manifests.courses).toMatchObject([
      {
        execution: { phase: 'Succeeded', exports: { two: { replicas: 2 } } },
        items: {
          one: { remembered: ['ConfigMap <run>-dropped', 'ConfigMap <run>-held', 'ConfigMap <run>-kept'] },
          two: { remembered: ['Deployment <run>'] },
        },
      },
      { items: { one: { remembered: ['ConfigMap <run>-held', 'ConfigMap <run>-kept'] } } },
      { execution: undefined, target: [], items: {} },
    ])
  })

  it('makes no other kind of write than those at which a case crashes, except for tokens and writes of an earlier part', () => {
    expect(expected.manifests.otherWrites).toEqual([
      ['POST serviceaccounts/token', 'POST deployments'],
      ['PATCH deployitems/status'],
      ['DELETE deployments'],
    ])
  })
})

describe.concurrent('S1, S9, S10: an installation whose process is killed', { timeout: LIMIT_MS }, () => {
  it.each(titled('crash: installation', INSTALLATION_CASES, 2))('ends like any other: %s', (_title, one) =>
    lanes.use((lane) => one.run(lane, expected.installation)),
  )
})

describe.concurrent('S1: an execution of manifests whose worker is killed', { timeout: LIMIT_MS }, () => {
  it.each(titled('crash: manifests', MANIFEST_CASES, 1))('ends like any other: %s', (_title, one) =>
    lanes.use((lane) => one.run(lane, expected.manifests)),
  )
})

const OTHER_CASES: readonly CrashCase[] = [
  ...[...DEPENDENTS_CASES, ...RANDOM_CASES, ...UNFLUSHED_CASES],
  {
    title: 'while twenty items wait: the next worker continues without a write, and ends each item with one write',
    run: crashWhileItemsWait,
  },
]

describe.concurrent('S1: a worker that is killed', { timeout: LIMIT_MS }, () => {
  it.each(titled('crash: other', OTHER_CASES, 2))('%s', (_title, one) => lanes.use((lane) => one.run(lane)))
})

describe.concurrent(
  'T7, T13: a worker that is stopped until its job and the next one are over',
  { timeout: LIMIT_MS },
  () => {
    it.each(titled('crash: stopped', stoppedCases(servers.accounts.worker), 1))('cannot land %s', (_title, one) =>
      lanes.use((lane) => one.run(lane)),
    )
  },
)
