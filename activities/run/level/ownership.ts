// Ownership of objects: finds the owner, and computes the metadata that makes the target the owner. Pure.
//
//   O1. A target owns an object by owner reference, or by label and annotation (kit/run/owners.ts). An object that outlives its target has the annotation only.
//   O2. An object without an owner is adopted only if the controller requests it: a user created it, and deleting the target would delete it.

import {
  type CreateInput,
  OWNER_ANNOTATION,
  ownerAnnotation,
  ownershipLabelsOf,
  OWNER_UID_LABEL,
  type Ownership,
} from '../../../workflows/kit/index.ts'
import type { KubeObject } from '../../kube/client.ts'
import { isOwnedBy } from '../../kube/owners.ts'
import { ownerOf } from '../../kube/object-views.ts'
import type { Patch } from '../../kube/merge-patch.ts'
import { nameOf } from './kinds.ts'

/** How the target will own the object. */
export function ownershipOf({ owner, elsewhere }: Pick<CreateInput, 'owner' | 'elsewhere'>): Ownership {
  return owner ?? (elsewhere === true ? 'label' : 'target')
}

/** Why the target must not write an object. */
export interface Obstacle {
  readonly code: 'OwnedByAnother' | 'NotOwned'
  readonly message: string
}

type OwnedInput = Pick<CreateInput, 'subject' | 'target' | 'object' | 'owner' | 'elsewhere'>

/** Returns why the target must not write the object; undefined if the target owns it or may adopt it (O2). */
export function obstacleOf(input: OwnedInput & { readonly adopt?: true }, found: KubeObject): Obstacle | undefined {
  const { subject } = input
  const where = nameOf(input.object.kind, found.metadata)
  const who = nameOf(subject.kind, subject)
  const controller = ownerOf(found)
  if (controller !== undefined) {
    if (isOwnedBy(found, input.target, subject)) return undefined
    const message = `${where}: found owner ${controller.kind} ${controller.name}; expected no owner, or ${who}`
    return { code: 'OwnedByAnother', message }
  }
  const { uid, madeFor: marked } = ownershipLabelsOf(found)
  const own = markOf(input)
  if (uid !== undefined && (uid !== subject.uid || marked !== own)) {
    const message = `${where}: found owner ${marked ?? `uid ${uid}`}; expected no owner, or ${who}`
    return { code: 'OwnedByAnother', message }
  }
  if (marked === own || input.adopt === true) return undefined
  const message = `${where}: the object exists and ${who} does not own it; delete it, or write it with \`adopt: true\``
  return { code: 'NotOwned', message }
}

/** Whether label and annotation name the target as the owner. */
export function isMarkedBy(input: Pick<OwnedInput, 'subject' | 'target'>, found: KubeObject): boolean {
  const { uid, madeFor: marked } = ownershipLabelsOf(found)
  return uid === input.subject.uid && marked === markOf(input)
}

/** Returns the missing metadata that makes the target the owner, and removes the metadata of another form of ownership by the same target. */
export function ownedMetadata(input: OwnedInput, found: KubeObject['metadata'] | undefined): Patch {
  const { subject, target } = input
  const { uid } = subject
  const ownership = ownershipOf(input)
  const references = found?.ownerReferences ?? []
  const others = references.filter((one) => one.uid !== uid)
  const reference = { apiVersion: target.apiVersion, kind: subject.kind, name: subject.name, uid, controller: true }
  const isLabelled = found?.labels?.[OWNER_UID_LABEL] === uid
  if (ownership === 'target')
    return {
      ...(!isReferredTo(input, found) && { ownerReferences: [...others, reference] }),
      ...(isLabelled && { labels: { [OWNER_UID_LABEL]: null } }),
    }
  const removedLabel = isLabelled ? null : undefined
  const label = ownership === 'label' ? uid : removedLabel
  return {
    ...(others.length < references.length && { ownerReferences: others }),
    ...(label !== undefined && { labels: { [OWNER_UID_LABEL]: label } }),
    annotations: { [OWNER_ANNOTATION]: markOf(input) },
  }
}

function isReferredTo({ subject, target }: OwnedInput, found: KubeObject['metadata'] | undefined): boolean {
  return found !== undefined && isOwnedBy({ metadata: found }, target, subject)
}

function markOf({ subject, target }: Pick<OwnedInput, 'subject' | 'target'>): string {
  const { kind, namespace, name } = subject
  return ownerAnnotation({ apiVersion: target.apiVersion, kind, namespace, name })
}
