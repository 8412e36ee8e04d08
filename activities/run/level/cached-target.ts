// The target of a pass from the process's object cache. Activities of a pass need the target for each state and each write; writes are conditional on the
// version that is returned here.
//
//   K1. A cached target is used if it is at least as new as the version of the pass. If another process has changed it since, the conditional write
//       conflicts and reads it again, as after a GET.
//   K2. Secrets are not cached.

import type { LevelResource, Subject } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { versionOf } from '../../kube/object-cache.ts'
import { readObject } from '../../kube/read-family.ts'
import { isSecret } from '../../kube/core-kinds.ts'
import { followedKind } from './kinds.ts'

export interface TargetRequest {
  readonly subject: Subject
  readonly target: LevelResource
  /** Version that the pass observed; undefined: read the current one. */
  readonly version: string | undefined
}

/** Caches the target that a pass has observed. */
export function cacheTarget({ objects }: Pick<Deps, 'objects'>, target: KubeObject): void {
  // K2
  if (isSecret(target)) return
  objects.put(target)
}

/** Returns the target, or another object of its name; undefined if no object has the name. */
export async function readTarget(
  deps: Deps,
  { subject, target, version }: TargetRequest,
): Promise<KubeObject | undefined> {
  const known = deps.objects.get(subject.uid)
  // K1
  if (version !== undefined && known !== undefined && versionOf(known) >= Number(version)) return known
  return await readObject(deps, followedKind(deps, target), subject.namespace, subject.name)
}
