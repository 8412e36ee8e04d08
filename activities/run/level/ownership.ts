// Whose an object is, and what is written into one so that it is the target's. Pure.
//
//   O1. A target owns by owner reference, or by label and annotation (kit/run/marks.ts); what it made to stay bears the annotation alone.
//   O2. What belongs to nobody is taken only when that is asked for: somebody made it by hand, and deleting the target would delete it.

import {
  type CreateInput,
  MADE_FOR,
  madeFor,
  marksOf,
  OWNER_UID,
  type Ownership,
} from '../../../workflows/kit/index.ts'
import type { KubeObject } from '../../kube/client.ts'
import { isOwnedBy } from '../../kube/owners.ts'
import { ownerOf } from '../../kube/views.ts'
import type { Patch } from '../../kube/write.ts'
import { nameOf } from './kinds.ts'

/** How the object is to belong to the target. */
export function ownershipOf({ owner, elsewhere }: Pick<CreateInput, 'owner' | 'elsewhere'>): Ownership {
  return owner ?? (elsewhere === true ? 'label' : 'target')
}

/** In the way of a write: why, and what was expected. */
export interface Obstacle {
  readonly code: 'OwnedByAnother' | 'NotOwned'
  readonly message: string
}

type Whose = Pick<CreateInput, 'subject' | 'target' | 'object' | 'owner' | 'elsewhere'>

/** What keeps the target from writing this object; undefined when it is its own, or may be taken (O2). */
export function obstacleOf(input: Whose & { readonly adopt?: true }, found: KubeObject): Obstacle | undefined {
  const { subject } = input
  const where = nameOf(input.object.kind, found.metadata)
  const who = nameOf(subject.kind, subject)
  const controller = ownerOf(found)
  if (controller !== undefined) {
    if (isOwnedBy(found, input.target, subject)) return undefined
    const message = `${where} is owned by ${controller.kind} ${controller.name}; expected nobody, or ${who}`
    return { code: 'OwnedByAnother', message }
  }
  const { uid, madeFor: marked } = marksOf(found)
  const own = markOf(input)
  if (uid !== undefined && (uid !== subject.uid || marked !== own)) {
    const message = `${where} is owned by ${marked ?? `uid ${uid}`}; expected nobody, or ${who}`
    return { code: 'OwnedByAnother', message }
  }
  if (marked === own || input.adopt === true) return undefined
  const message = `${where} is there and belongs to nobody; expected it to be made for ${who}, or \`adopt: true\``
  return { code: 'NotOwned', message }
}

/** Whether an object of the target's may be written under the metadata that it has. */
export function isMarkedBy(input: Pick<Whose, 'subject' | 'target'>, found: KubeObject): boolean {
  const { uid, madeFor: marked } = marksOf(found)
  return uid === input.subject.uid && marked === markOf(input)
}

/** The metadata that makes an object the target's, as far as it lacks it, and of what it was the target's by before nothing. */
export function ownedMetadata(input: Whose, found: KubeObject['metadata'] | undefined): Patch {
  const { subject, target } = input
  const { uid } = subject
  const ownership = ownershipOf(input)
  const references = found?.ownerReferences ?? []
  const others = references.filter((one) => one.uid !== uid)
  const reference = { apiVersion: target.apiVersion, kind: subject.kind, name: subject.name, uid, controller: true }
  const isLabelled = found?.labels?.[OWNER_UID] === uid
  if (ownership === 'target')
    return {
      ...(!isReferredTo(input, found) && { ownerReferences: [...others, reference] }),
      ...(isLabelled && { labels: { [OWNER_UID]: null } }),
    }
  const label = ownership === 'label' ? uid : isLabelled ? null : undefined
  return {
    ...(others.length < references.length && { ownerReferences: others }),
    ...(label !== undefined && { labels: { [OWNER_UID]: label } }),
    annotations: { [MADE_FOR]: markOf(input) },
  }
}

function isReferredTo({ subject, target }: Whose, found: KubeObject['metadata'] | undefined): boolean {
  return found !== undefined && isOwnedBy({ metadata: found }, target, subject)
}

function markOf({ subject, target }: Pick<Whose, 'subject' | 'target'>): string {
  const { kind, namespace, name } = subject
  return madeFor({ apiVersion: target.apiVersion, kind, namespace, name })
}
