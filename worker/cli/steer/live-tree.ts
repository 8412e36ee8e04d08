// An object with what it controls, all the way down, as the API server has it now: what a deletion waits for.

import type { KubeClient, KubeObject } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { readAll } from '../../../activities/kube/pages.ts'
import { isChildOf } from '../../../workflows/kit/index.ts'
import type { SteeredKind } from './open-object.ts'

export interface LiveNode {
  readonly kind: SteeredKind
  readonly object: KubeObject
  readonly children: readonly LiveNode[]
}

const PAGE = 500
const DEEPEST = 24

/** One list of each kind in the namespace. */
export async function readTree(
  kube: Pick<KubeClient, 'request'>,
  root: { readonly kind: SteeredKind; readonly object: KubeObject },
  kinds: readonly SteeredKind[],
): Promise<LiveNode> {
  const namespace = root.object.metadata.namespace ?? ''
  const all: { readonly kind: SteeredKind; readonly object: KubeObject }[] = []
  for (const kind of kinds) {
    const objects = await readAll(kube, resourcePath(kind.api, namespace), { limit: PAGE })
    all.push(...objects.map((object) => ({ kind, object })))
  }
  return treeOf(root, all)
}

/** @param all that may be below. */
export function treeOf(
  root: { readonly kind: SteeredKind; readonly object: KubeObject },
  all: readonly { readonly kind: SteeredKind; readonly object: KubeObject }[],
): LiveNode {
  const byOwner = new Map<string, { readonly kind: SteeredKind; readonly object: KubeObject }[]>()
  for (const one of all) {
    const uid = one.object.metadata.ownerReferences?.find(({ controller }) => controller === true)?.uid
    if (uid !== undefined) byOwner.set(uid, [...(byOwner.get(uid) ?? []), one])
  }
  const nodeOf = ({ kind, object }: (typeof all)[number], depth: number): LiveNode => {
    const { uid = '', namespace = '', name } = object.metadata
    const owner = { group: kind.group, kind: kind.kind, uid, namespace, name }
    const below = depth === DEEPEST ? [] : (byOwner.get(uid) ?? [])
    return {
      kind,
      object,
      children: below.filter((one) => isChildOf(one.object, owner)).map((one) => nodeOf(one, depth + 1)),
    }
  }
  return nodeOf(root, 0)
}

/** Children before parents. */
export function upwards(node: LiveNode): readonly LiveNode[] {
  return [...node.children.flatMap(upwards), node]
}
