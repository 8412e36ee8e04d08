// Random histories of an object: manifests that are applied and edited, and changes of others in between. After each job the object is what
// `kubectl apply --server-side --force-conflicts` makes of a twin with the same history (drift-stage.ts).

import { describe, expect, inject, it } from 'vitest'

import { DeployError } from '../../activities/landscaper/deploy/run/deployer.ts'
import { KubeError } from '../../activities/kube/errors.ts'
import { mergePatch } from '../../activities/kube/merge-patch.ts'
import { useTargetStage } from '../activities/landscaper/deploy/manifest/target-stage.ts'
import { holds } from '../support/fuzz/course.ts'
import { isLong } from '../support/matrix/form.ts'
import { type Course, courses, edited, withOthersLast } from './drift-courses.ts'
import { Twins, useTwins } from './drift-stage.ts'

const stage = useTargetStage(inject('servers').kubeconfigPath, 'manifest-drift-fuzz')
useTwins(stage)

let count = 0

/** Runs the history again if a controller of the cluster wrote between a job's read and write: that belongs to no history. */
async function runs(course: Course): Promise<void> {
  for (let left = 10; ; left--) {
    try {
      await runOnce(course)
      return
    } catch (error) {
      if (!(error instanceof DeployError && error.reason === 'Conflict') || left === 0) throw error
    }
  }
}

async function runOnce({ first, steps }: Course): Promise<void> {
  count += 1
  const twins = new Twins(stage, `twin-${count}`, { sample: first })
  let manifest = first
  if (!(await isApplied(twins, manifest))) return
  for (const { edits, next } of steps) {
    for (const edit of edits) {
      const live = await twins.twin()
      const patch = mergePatch(live, edited(live, edit))
      if (patch !== undefined) await twins.change({ patch, by: edit.by })
    }
    manifest = next ?? manifest
    if (!(await isApplied(twins, manifest))) return
    stage.kube.requests = []
    await twins.job(manifest)
    expect(stage.kube.writes).toEqual([])
  }
}

/** @returns whether the server takes what the manifest makes of the twin. */
async function isApplied(twins: Twins, manifest: Course['first']): Promise<boolean> {
  try {
    await twins.apply(manifest)
  } catch (error) {
    if (error instanceof KubeError && error.status < 500) return false
    throw error
  }
  await twins.job(manifest)
  const [ours, twin] = [await twins.ours(), await twins.twin()]
  expect(withOthersLast(ours, manifest)).toEqual(withOthersLast(twin, manifest))
  return true
}

describe('an object that is changed at random', () => {
  it.each(Object.entries(courses))('ends as server-side apply would have it: %s', async (name, course) => {
    const lane = Object.keys(courses).indexOf(name)
    await holds({ name: `drift-${name.toLowerCase()}`, values: course, runs: isLong ? 400 : 8, lane }, runs)
  })
})
