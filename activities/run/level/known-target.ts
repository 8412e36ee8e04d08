// The target of a pass as this process knows it. A pass asks for it with every state that it reads and every field that it writes; it has looked once, and
// whatever it writes is fenced by the version that is taken from here.
//
//   K1. What is known is used where it is at least as new as what the pass has seen. What another process has written since is no worse than what comes
//       just after a GET: writes on it are refused, and looked at anew.
//   K2. Secrets are not remembered.

import type { LevelResource, Subject } from '../../../workflows/kit/index.ts'
import type { Deps } from '../../deps.ts'
import type { KubeObject } from '../../kube/client.ts'
import { versionOf } from '../../kube/object-cache.ts'
import { readObject } from '../../kube/read-family.ts'
import { isSecret } from '../../kube/secrets.ts'
import { followedKind } from './kinds.ts'

export interface KnownTarget {
  readonly subject: Subject
  readonly target: LevelResource
  /** Of the pass; undefined: as it is now. */
  readonly version: string | undefined
}

/** A pass has looked at it. */
export function rememberTarget({ objects }: Pick<Deps, 'objects'>, target: KubeObject): void {
  // K2
  if (isSecret(target)) return
  objects.put(target)
}

/** The target, or what has its name; undefined when there is none. */
export async function targetOf(deps: Deps, { subject, target, version }: KnownTarget): Promise<KubeObject | undefined> {
  const known = deps.objects.get(subject.uid)
  // K1
  if (version !== undefined && known !== undefined && versionOf(known) >= Number(version)) return known
  return await readObject(deps, followedKind(deps, target), subject.namespace, subject.name)
}
