// What an object is a part of, all the way up, as the API server has it now: whose job brings all below it up to date.

import { KubeError } from '../../../activities/kube/kube-error.ts'
import { groupKindOf, isSameGroupKind, ownerReferenceOf } from '../../../workflows/kit/index.ts'
import { nameOf } from '../ask/texts.ts'
import { readObject, type Steered } from './open-object.ts'

export type Above = Pick<Steered, 'kind' | 'namespace' | 'name'>

const HIGHEST = 24

/** The topmost that is there and may be seen; undefined: it is a part of nothing. */
export async function topOf(
  steered: Pick<Steered, 'kinds' | 'namespace' | 'object'> & { readonly kube: Pick<Steered['kube'], 'request'> },
): Promise<Above | undefined> {
  const { kube, kinds, namespace } = steered
  let top: Above | undefined
  let { object } = steered
  for (let height = 0; height < HIGHEST; height++) {
    const owner = ownerReferenceOf(object)
    const kind = owner && kinds.find((one) => isSameGroupKind(one, groupKindOf(owner)))
    if (owner === undefined || kind === undefined) break
    const found = await readObject(kube, kind, namespace, owner.name).catch((error: unknown) => {
      // The hint is shorter then; what was asked for needs no right to see what is above.
      if (error instanceof KubeError && error.status === 403) return undefined
      throw error
    })
    if (found?.metadata.uid !== owner.uid) break
    object = found
    top = { kind, namespace, name: owner.name }
  }
  return top
}

/** How to have the next job of all that the object is a part of. */
export function nextJobText(top: Above | undefined): string {
  if (top === undefined) return 'the next job of what it is a part of'
  const { kind, namespace, name } = top
  const title = nameOf({ kind: kind.kind, namespace, name })
  const command = `pawl reconcile ${kind.kind.toLowerCase()}/${name} -n ${namespace}`
  return `the next job of ${title}${kind.steering.reconcile === undefined ? '' : `: ${command}`}`
}
