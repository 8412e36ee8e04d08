// Computes the write that makes a live object match its manifest, if one is needed. Pure.
//
//   C1. An unchanged manifest changes nothing: if the live object has the manifest's hash and all its values, nothing is written, whatever other
//       fields the object has. Removing a field changes the hash; the field is then removed if only the deployer owns it.
//   C2. Every write has the uid and resourceVersion of the object from which it was computed.
//   C3. An additional subject of a role binding is a difference: rights that no manifest grants are revoked.
//   C4. Fields that the manifest does not set and another field manager owns stay, in every strategy but `replace` (others-fields.ts).
//   C5. A difference in an object with the manifest's hash may be only the server's notation of the manifest: the change has a probe for a dry run.
//
// Source: spec/landscaper.md 4.2 "updateStrategy", "policy".

import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { canonicalJson } from '../../../../workflows/kit/index.ts'
import type { KubeObject } from '../../../kube/client.ts'
import { type FieldSet, ownedFields } from '../../../kube/managed-fields.ts'
import { mergePatch } from '../../../kube/merge-patch.ts'
import type { ItemLabels } from './ownership-labels.ts'
import { isMap, type Json } from './config-reader.ts'
import type { Manifest, UpdateStrategy } from './manifest.ts'
import { filledFields, overriddenFields } from './merge-maps.ts'
import type { Owners } from './others-fields.ts'
import { covers } from './overlay.ts'
import { comparable, replacement, version, without } from './replacement.ts'

export interface ApplyLabels extends ItemLabels {
  readonly strategy: UpdateStrategy
}

export interface Request {
  readonly verb: 'PUT' | 'PATCH'
  readonly body: Json
}

export interface Change extends Request {
  /** C5. If a dry run of the probe returns the live object, nothing is written. */
  readonly probe?: Request
  /** The request without the fields of others, for a server that rejects the body as invalid: these fields may contradict the manifest. */
  readonly alone?: Request
}

/** The object to create. */
export function creation(manifest: Manifest, marks: ApplyLabels): Json {
  const wanted = labelled(manifest, marks)
  const metadata = wanted['metadata'] as Json & { annotations?: Json }
  return {
    ...wanted,
    metadata: { ...metadata, annotations: { ...manifest.annotateBeforeCreate, ...metadata.annotations } },
  }
}

/** The write that makes the live object match the manifest; undefined if none is needed. */
export function update(live: KubeObject, manifest: Manifest, marks: ApplyLabels): Change | undefined {
  const wanted = labelled(manifest, marks)
  const known = ownersIn(live, marks)
  if (marks.strategy === 'merge') {
    const whole: Request = { verb: 'PUT', body: withLabel(filledFields(live, wanted), marks) }
    return covers(live, whole.body, known.all) ? undefined : { ...whole, probe: whole }
  }
  const isApplied = isAsApplied(live, wanted, { manifest, all: known.all })
  if (isApplied && !hasOtherSubjects(live, wanted, { manifest, marks })) return undefined
  const [owners, of] = [marks.strategy === 'replace' ? NOBODY : known, { live, manifest, marks }]
  const [change, alone] = [requestFor(of, wanted, owners), requestFor(of, wanted, NOBODY)]
  if (change === undefined) return undefined
  const whole = { ...change, ...(alone !== undefined && !isDeepStrictEqual(alone, change) && { alone }) }
  if (isApplied || !isSent(live, wanted, marks)) return whole
  // Additions of other managers alone are no reason for a replacement.
  const probe = requestFor(of, patchedAfter(wanted, manifest), known)
  return probe === undefined ? undefined : { ...whole, probe }
}

/** Whether the live object has the manifest's hash, so the manifest was sent before. */
function isSent(live: KubeObject, wanted: Json, { ownership }: ApplyLabels): boolean {
  const { annotations } = wanted['metadata'] as { annotations?: Json }
  return live.metadata.annotations?.[ownership.hash] === annotations?.[ownership.hash]
}

interface Update {
  readonly live: KubeObject
  readonly manifest: Manifest
  readonly marks: ApplyLabels
}

function requestFor({ live, manifest, marks }: Update, wanted: Json, owners: Owners): Request | undefined {
  if (marks.strategy === 'mergeOverwrite') return { verb: 'PUT', body: overriddenFields(live, wanted, owners) }
  const whole = replacement(live, wanted, { manifest, owners })
  if (marks.strategy !== 'patch') return { verb: 'PUT', body: whole }
  const patch = mergePatch(comparable(live, manifest), comparable(whole, manifest))
  return patch === undefined
    ? undefined
    : { verb: 'PATCH', body: { ...patch, metadata: { ...(patch['metadata'] as Json | undefined), ...version(live) } } }
}

const NOBODY: Owners = { others: undefined, all: undefined }

/** The manager that has set the item's label counts as the deployer: Landscaper's deployer, before Pawl. */
function ownersIn({ metadata }: KubeObject, { ownership }: ItemLabels): Owners {
  const isDeployer = ({ manager, operation, fieldsV1 }: FieldsOfManager) => {
    if (manager === ownership.fieldManager) return true
    const labels = fieldsV1?.['f:metadata']?.['f:labels']
    return operation === 'Update' && isMap(labels) && labels[`f:${ownership.label}`] !== undefined
  }
  return {
    others: ownedFields(metadata, (entry) => !isDeployer(entry)),
    all: ownedFields(metadata, () => true),
  }
}

type FieldsOfManager = NonNullable<KubeObject['metadata']['managedFields']>[number]

/** The overriding merge of `patchAfterDeployment` and `patchBeforeDelete`; undefined when it changes nothing. */
export function patchChange(live: KubeObject, patch: Json): Change | undefined {
  const fields = withoutIdentity(patch)
  if (covers(live, fields)) return undefined
  const request: Request = { verb: 'PUT', body: overriddenFields(live, fields) }
  return { ...request, probe: request }
}

function labelled({ object }: Manifest, marks: ApplyLabels): Json {
  const wanted = withLabel(object, marks)
  if (marks.strategy === 'merge') return wanted
  const hash = createHash('sha256').update(canonicalJson(wanted)).digest('hex')
  const metadata = wanted['metadata'] as Json
  return {
    ...wanted,
    metadata: { ...metadata, annotations: { ...object.metadata.annotations, [marks.ownership.hash]: hash } },
  }
}

function withLabel(object: Json, { ownership, item }: ItemLabels): Json {
  const metadata = object['metadata'] as Json
  const labels = { ...(metadata['labels'] as Json | undefined), [ownership.label]: item }
  return { ...object, metadata: { ...metadata, labels } }
}

const ROLES = 'rbac.authorization.k8s.io/'

/** C3. The required subjects are known to exist. A patch after deployment may add its own. */
function hasOtherSubjects(live: KubeObject, wanted: Json, { manifest, marks }: Omit<Update, 'live'>): boolean {
  if (marks.strategy === 'mergeOverwrite' || manifest.patchAfterDeployment !== undefined) return false
  if (!String(wanted['apiVersion']).startsWith(ROLES)) return false
  return subjectsIn(live).length > subjectsIn(wanted).length
}

function subjectsIn({ subjects }: Json): readonly unknown[] {
  return Array.isArray(subjects) ? subjects : []
}

function isAsApplied(
  live: KubeObject,
  wanted: Json,
  { manifest, all }: { manifest: Manifest; all: FieldSet | undefined },
): boolean {
  const said = without(wanted, ['status'])
  if (covers(live, said, all)) return true
  return manifest.patchAfterDeployment !== undefined && covers(live, patchedAfter(said, manifest), all)
}

// The patch after deployment is part of the final object.
function patchedAfter(wanted: Json, { patchAfterDeployment }: Manifest): Json {
  return patchAfterDeployment === undefined ? wanted : overriddenFields(wanted, withoutIdentity(patchAfterDeployment))
}

function withoutIdentity(patch: Json): Json {
  const { metadata } = patch
  const rest = without(patch, ['apiVersion', 'kind', 'status', 'metadata'])
  if (!isMap(metadata)) return rest
  const { labels, annotations, finalizers } = metadata
  const written = Object.entries({ labels, annotations, finalizers }).filter(([, value]) => value !== undefined)
  return { ...rest, metadata: Object.fromEntries(written) }
}
