// The worker is killed at each kind of write of a manifest item's jobs, on the engine's cluster and on the target, before and after the server
// has done it, and started again. What comes out is what comes out of an undisturbed run: nothing is deployed twice, forgotten or left behind.
//
// Each run has one crash in its first job and, as long as there are points, one in the job on the edited spec and one in the deletion. CI runs a sample
// (docs/test-matrices.md).

import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import type { WritePoint } from '../support/api-proxy.ts'
import { crashed, type Crash, type Lane, LanePool, openLane } from '../support/crash.ts'
import { deploy, edit, type ManifestCourse, remove } from '../support/manifest-course.ts'
import { createTarget } from '../support/manifests.ts'
import { sampleOf } from '../support/matrix/form.ts'

const servers = inject('servers')

const LANES = 3
// A run takes seconds; on a busy machine a process takes many to start. More runs are begun than there are lanes: the wait for one counts.
const LIMIT_MS = 480_000

type Point = WritePoint & { readonly what: string }

const JOB: readonly Point[] = [
  { label: 'POST configmaps', nth: 2, what: 'the creation of one object among others' },
  { label: 'PATCH deployitems/status', nth: 4, what: 'the news that an item waits' },
  { label: 'POST secrets', nth: 1, what: 'the export' },
  { label: 'PATCH targets', nth: 1, what: 'the finalizer of the Target' },
]
const EDIT: readonly Point[] = [
  { label: 'PUT configmaps', nth: 1, what: 'the change of an object' },
  { label: 'DELETE configmaps', nth: 1, what: 'the deletion of an orphan' },
]
const DELETION: readonly Point[] = [
  { label: 'PATCH deployitems', nth: 1, what: 'the release of an item' },
  { label: 'DELETE configmaps', nth: 2, what: 'the deletion of one object among others' },
  { label: 'PATCH deployitems/status', nth: 2, what: 'the news that a deletion has begun' },
  { label: 'PATCH targets', nth: 1, what: 'the release of the Target' },
]
const HALVES = [
  { points: JOB, act: deploy },
  { points: EDIT, act: edit },
  { points: DELETION, act: remove },
]
const WHENS = ['before', 'after'] as const

interface Planned {
  readonly act: (lane: Lane, run: string) => Promise<ManifestCourse>
  readonly crash: Crash | undefined
}

const ALL = WHENS.flatMap((when) =>
  JOB.map((_, index) => {
    const at = HALVES.map(({ points }) => points[index])
    const title = at.flatMap((point) => (point === undefined ? [] : [point.what])).join(', ')
    const halves = HALVES.map(({ act }, half): Planned => {
      const point = at[half]
      return { act, crash: point && { part: 'worker', when, at: point } }
    })
    return { title: `${when} ${title}`, name: `${when}-${index}`, halves }
  }),
)

const RUNS = sampleOf('a crash at each write of a manifest item', ALL, 2)

const lanes = new LanePool(async () => {
  const lane = await openLane('crash-manifest', servers)
  await createTarget(lane.cluster)
  return lane
})
let expected: ReturnType<typeof undisturbed>

beforeAll(async () => {
  await lanes.fill(LANES)
  // Beside the first others.
  expected = lanes.use(undisturbed)
}, LIMIT_MS)
afterAll(() => lanes.close())

async function undisturbed(lane: Lane) {
  const courses: ManifestCourse[] = []
  const labels: string[][] = []
  for (const { act } of HALVES) {
    lane.proxy.arm()
    courses.push(await act(lane, 'undisturbed'))
    labels.push(lane.proxy.writes.map(({ label }) => label))
  }
  return { courses, labels }
}

describe.concurrent('an execution of manifests that nothing disturbs', () => {
  it('deploys, edits and removes, and remembers what is there', async () => {
    const { courses } = await expected
    expect(courses).toMatchObject([
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

  it('makes no kind of write on which no other is interrupted, but for those of its execution', async () => {
    const { labels } = await expected
    const interrupted = HALVES.map(({ points }) => new Set(points.map(({ label }) => label)))
    const others = labels.map((written, half) => [
      ...new Set(written.filter((label) => interrupted[half]?.has(label) !== true && !isOfExecution(label))),
    ])
    // The token is lost with its worker; the others are of the kinds of ConfigMaps and of the items of the job before.
    expect(others).toEqual([
      ['POST serviceaccounts/token', 'POST deployments'],
      ['PATCH deployitems/status'],
      ['DELETE deployments'],
    ])
  })
})

describe.concurrent('S1: an execution of manifests whose worker is killed', () => {
  it.each(RUNS)(
    '$title ends like any other',
    async ({ name, halves }) => {
      await lanes.use(async (lane) => {
        const courses: ManifestCourse[] = []
        for (const { act, crash } of halves) {
          lane.proxy.arm()
          courses.push(crash === undefined ? await act(lane, name) : await crashed(lane, crash, () => act(lane, name)))
        }
        expect(courses).toEqual((await expected).courses)
      })
    },
    LIMIT_MS,
  )
})

function isOfExecution(label: string): boolean {
  return / (executions|dataobjects|events)|(POST|DELETE) deployitems|PATCH deployitems$/.test(label)
}
