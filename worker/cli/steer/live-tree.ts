// Reads an object with its descendants and its ancestors from the API server.

import type { KubeClient, KubeObject } from '../../../activities/kube/client.ts'
import { resourcePath } from '../../../activities/kube/resource-path.ts'
import { readAll } from '../../../activities/kube/pages.ts'
import { isChildOf, groupKindOf, isSameGroupKind, ownerReferenceOf } from '../../../workflows/kit/index.ts'
import { suggestedCommand } from '../suggestion.ts'
import { objectWords, type SteeredKind, readObject, titleOf, type TargetObject } from './open-object.ts'
import { KubeError } from '../../../activities/kube/kube-error.ts'

export interface LiveNode {
  readonly kind: SteeredKind
  readonly object: KubeObject
  readonly children: readonly LiveNode[]
}

const PAGE = 500
const DEEPEST = 24

/** Lists each kind of the namespace once. */
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

/** @param all candidates for descendants. */
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
export function childrenFirst(node: LiveNode): readonly LiveNode[] {
  return [...node.children.flatMap(childrenFirst), node]
}

// An ancestor of an object; the job of the root updates all objects below it.

type AncestorObject = Pick<TargetObject, 'kind' | 'namespace' | 'name'>

const HIGHEST = 24

/** The topmost ancestor that the user may read; undefined if the object has no owner. */
export async function findRoot(
  target: Pick<TargetObject, 'kinds' | 'namespace' | 'object'> & {
    readonly kube: Pick<TargetObject['kube'], 'request'>
  },
): Promise<AncestorObject | undefined> {
  const { kube, kinds, namespace } = target
  let top: AncestorObject | undefined
  let { object } = target
  for (let height = 0; height < HIGHEST; height++) {
    const owner = ownerReferenceOf(object)
    const kind = owner && kinds.find((one) => isSameGroupKind(one, groupKindOf(owner)))
    if (owner === undefined || kind === undefined) break
    const found = await readObject(kube, kind, namespace, owner.name).catch((error: unknown) => {
      // Without permission for the ancestor the hint is shorter; the command itself needs no such permission.
      if (error instanceof KubeError && error.status === 403) return undefined
      throw error
    })
    if (found?.metadata.uid !== owner.uid) break
    object = found
    top = { kind, namespace, name: owner.name }
  }
  return top
}

/** The next job of the root, with the command that starts it. */
export function nextJobText(top: AncestorObject | undefined): string {
  if (top === undefined) return 'the next job of its parent'
  const start = suggestedCommand(`reconcile ${objectWords(top)}`)
  return `the next job of ${titleOf(top)}${top.kind.steering.reconcile === undefined ? '' : `: ${start}`}`
}
