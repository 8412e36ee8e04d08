// Applies `patchAfterDeployment`: an overriding map merge into ready objects. Source: spec/landscaper.md 4.2.

import { resourcePath } from '../../../kube/resource-path.ts'
import { isConflict, isNotFound } from '../../../kube/errors.ts'
import { inParallel } from '../../../kube/in-parallel.ts'
import { describeObject, readObject } from '../target/read-object.ts'
import type { TargetCluster } from '../target/target-cluster.ts'
import { changesNothing, write } from './apply-object.ts'
import { patched } from './changes.ts'
import type { Brand } from './brand.ts'
import type { Json } from './config-reader.ts'
import type { Manifest } from './manifest.ts'
import { attempt, type Problem } from './problems.ts'

export const PATCH_OPERATION = 'PatchAfterDeployment'
const WRITES_AT_ONCE = 10
const MOST_TRIES = 5

export interface PatchInput {
  readonly target: TargetCluster
  readonly brand: Brand
  readonly signal: AbortSignal
}

/** Repeated calls write only differences. @returns the failures. */
export async function patchDeployed(input: PatchInput, manifests: readonly Manifest[]): Promise<readonly Problem[]> {
  const answers = await inParallel(manifests, WRITES_AT_ONCE, async ({ object, patchAfterDeployment }) => {
    if (patchAfterDeployment === undefined) return { value: undefined }
    const reference = { ...object, ...object.metadata }
    const patch = () => patchOne(input, { reference, patch: patchAfterDeployment })
    return await attempt(PATCH_OPERATION, describeObject(reference), patch)
  })
  return answers.filter((answer) => 'error' in answer)
}

interface OnePatch {
  readonly reference: Parameters<typeof readObject>[1]
  readonly patch: Json
}

async function patchOne({ target, brand, signal }: PatchInput, { reference, patch }: OnePatch): Promise<void> {
  for (let tries = 1; ; tries++) {
    const live = await readObject(target, reference, signal)
    const served = await target.servedKind(reference.apiVersion, reference.kind, signal)
    const change = live === undefined ? undefined : patched(live, patch)
    if (live === undefined || change === undefined || served === undefined) return
    const path = resourcePath(served, served.namespaced ? reference.namespace : undefined, reference.name)
    try {
      const writer = { kube: target.kube, brand, signal }
      if (!(await changesNothing(writer, path, { live, change }))) await write(writer, path, change)
      return
    } catch (error) {
      if (tries === MOST_TRIES || !(isConflict(error) || isNotFound(error))) throw error
    }
  }
}
