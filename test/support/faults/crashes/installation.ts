// Crash cases of the reference Installation, one for each write: a crash in its job and a crash in its deletion. The
// results must equal the results of the undisturbed course.

import { expect } from 'vitest'
import { type Course, install, uninstall, withoutSettles } from '../course.ts'
import { type Crash, pointsOf, titleOf, withCrash } from '../crash.ts'
import type { Lane } from '../lane.ts'

// All writes of the reference course. A test of the undisturbed course checks that the lists are complete.
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
export const WRITES = [...JOB_WRITES, ...DELETION_WRITES].map(({ label }) => label).sort()

export interface Undisturbed {
  readonly job: Course
  readonly deletion: Course
  readonly writes: readonly string[]
}

export async function undisturbedInstallation(lane: Lane): Promise<Undisturbed> {
  lane.proxy.arm()
  const job = await install(lane, 'undisturbed')
  const writes = lane.proxy.writes.map(({ label }) => label)
  lane.proxy.arm()
  const deletion = await uninstall(lane, 'undisturbed')
  return { job, deletion, writes: [...writes, ...lane.proxy.writes.map(({ label }) => label)].sort() }
}

export const INSTALLATION_CASES = (['worker', 'bridge'] as const).flatMap((part) =>
  (['before', 'after'] as const).flatMap((when) =>
    JOB_WRITES.map((at, index) => {
      const job: Crash = { part, when, at }
      // The deletion has fewer writes. Cases after its last write start at its first write again, in the other process.
      const other = part === 'worker' ? 'bridge' : 'worker'
      const deletion: Crash = {
        part: index < DELETION_WRITES.length ? part : other,
        when,
        at: DELETION_WRITES[index % DELETION_WRITES.length]!,
      }
      const name = `${part}-${when}-${index}`
      return {
        title: `${titleOf(job)}, then ${titleOf(deletion)}`,
        async run(lane: Lane, expected: Undisturbed) {
          const installed = await withCrash(lane, job, () => install(lane, name))
          const uninstalled = await withCrash(lane, deletion, () => uninstall(lane, name))
          // A pass that meets a fault may write the status once more. The number of all other writes must be equal.
          const courses = [installed, uninstalled].map(withoutSettles)
          expect(courses).toEqual([expected.job, expected.deletion].map(withoutSettles))
        },
      }
    }),
  ),
)
