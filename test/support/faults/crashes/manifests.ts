// Crash cases of manifest items at each kind of write: in the job, in the job after an edit of the spec, and in the
// deletion. The results must equal the results of the undisturbed course: no object is deployed twice or left behind.

import { expect } from 'vitest'
import type { WritePoint } from '../http-proxy.ts'
import { createTarget } from '../../landscaper/manifests.ts'
import { withCrash } from '../crash.ts'
import type { Lane } from '../lane.ts'
import { deploy, edit, type ManifestCourse, remove } from '../manifest-course.ts'

type Place = WritePoint & { readonly what: string }

const JOB: readonly Place[] = [
  { label: 'POST configmaps', nth: 2, what: 'the creation of one object among others' },
  { label: 'PATCH deployitems/status', nth: 4, what: 'the status of an item that waits' },
  { label: 'POST secrets', nth: 1, what: 'the export' },
  { label: 'PATCH targets', nth: 1, what: 'the finalizer of the Target' },
]
const EDIT: readonly Place[] = [
  { label: 'PUT configmaps', nth: 1, what: 'the change of an object' },
  { label: 'DELETE configmaps', nth: 1, what: 'the deletion of an orphan' },
]
const DELETION: readonly Place[] = [
  { label: 'PATCH deployitems', nth: 1, what: 'the release of an item' },
  { label: 'DELETE configmaps', nth: 2, what: 'the deletion of one object among others' },
  { label: 'PATCH deployitems/status', nth: 2, what: 'the status of a deletion that has begun' },
  { label: 'PATCH targets', nth: 1, what: 'the release of the Target' },
]
const PARTS = [
  { places: JOB, act: deploy },
  { places: EDIT, act: edit },
  { places: DELETION, act: remove },
]

/** Creates the Target of the course in the namespace of the lane if it does not exist. */
async function prepare({ cluster }: Lane): Promise<void> {
  if ((await cluster.get('targets', 'here')) === undefined) await createTarget(cluster)
}

export interface UndisturbedManifests {
  readonly courses: readonly ManifestCourse[]
  /** For the job, the edit and the deletion: the kinds of writes at which no case crashes. */
  readonly otherWrites: readonly (readonly string[])[]
}

export async function undisturbedManifests(lane: Lane): Promise<UndisturbedManifests> {
  await prepare(lane)
  const courses: ManifestCourse[] = []
  const otherWrites: string[][] = []
  for (const { places, act } of PARTS) {
    lane.proxy.arm()
    courses.push(await act(lane, 'undisturbed-manifests'))
    const labels = new Set(lane.proxy.writes.map(({ label }) => label))
    otherWrites.push([...labels].filter((label) => places.every((one) => one.label !== label) && !isOfExecution(label)))
  }
  return { courses, otherWrites }
}

export const MANIFEST_CASES = (['before', 'after'] as const).flatMap((when) =>
  JOB.map((_, index) => {
    const places = PARTS.map((part) => part.places[index])
    const name = `${when}-${index}`
    return {
      title: `${when} ${places.flatMap((place) => (place === undefined ? [] : [place.what])).join(', ')}`,
      async run(lane: Lane, expected: UndisturbedManifests) {
        await prepare(lane)
        const courses: ManifestCourse[] = []
        for (const [part, { act }] of PARTS.entries()) {
          lane.proxy.arm()
          const at = places[part]
          const run = () => act(lane, name)
          courses.push(at === undefined ? await run() : await withCrash(lane, { part: 'worker', when, at }, run))
        }
        expect(courses).toEqual(expected.courses)
      },
    }
  }),
)

function isOfExecution(label: string): boolean {
  return / (executions|dataobjects|events)|(POST|DELETE) deployitems|PATCH deployitems$/.test(label)
}
