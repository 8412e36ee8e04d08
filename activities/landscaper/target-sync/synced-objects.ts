// Reads, writes and removes the Targets and Secrets of a TargetSync.
//
//   T1. An object belongs to a TargetSync if it has the label and no other owner: another object of that name is reported and unchanged.
//   T2. A Target is created after its Secret, so that each Target has its Secret, and removed after it: Secrets are not listed, so they are found by
//       their Targets, and the next synchronization repeats an interrupted removal. If the Target cannot be written, the Secret is removed again.
//   T3. Unchanged objects are not written. Values of Secrets go from one API server to the other, and nowhere else.

import {
  CREDENTIALS_UNTIL_ANNOTATION,
  LAST_TARGET_SYNC_ANNOTATION,
  TARGET_SYNC_LABEL,
} from '../../../workflows/landscaper/contract.ts'
import { type Target, targetKind } from '../../../workflows/landscaper/target/kind.ts'
import { targetSyncKind } from '../../../workflows/landscaper/target-sync/kind.ts'
import { groupKindOf, isSameGroupKind, type Subject, type WatchedKind } from '../../../workflows/kit/index.ts'
import type { KubeObject, OwnerReference } from '../../kube/client.ts'
import { mergePatch, type Patch } from '../../kube/merge-patch.ts'
import { listFromServer, readObject } from '../../kube/read-family.ts'
import { secretResource } from '../../kube/core-kinds.ts'
import { ownerOf } from '../../kube/object-views.ts'
import { type Write, type Writer, writeAll } from '../../kube/write.ts'
import type { LandscaperDeps } from '../deps.ts'
import { KUBERNETES_TARGET_TYPE } from '../deploy/target/open-target.ts'
import { KUBECONFIG_KEY, SyncProblem } from './source-entries.ts'

const LABELS = { [TARGET_SYNC_LABEL]: 'ok' }

/** The TargetSync, and its writer. */
export interface Syncing {
  readonly subject: Subject
  readonly writer: Writer
}

/** The synced Targets of the namespace, by name. */
export async function syncedTargets(
  deps: LandscaperDeps,
  { subject }: Pick<Syncing, 'subject'>,
): Promise<ReadonlyMap<string, Target>> {
  const found = await listFromServer(deps, targetKind, subject.namespace, `${TARGET_SYNC_LABEL}=ok`)
  return new Map(found.filter((one) => isSynced(one)).map((one) => [one.metadata.name, one]))
}

/** @param kubeconfig in base64. @param issuedUntil for issued credentials: the Target records it even if the kubeconfig is unchanged. */
interface Credentials {
  readonly name: string
  readonly kubeconfig: string
  readonly issuedUntil?: string
}

/** Writes a kubeconfig into Secret and Target. @throws SyncProblem, KubeError */
export async function writeCredentials(
  deps: LandscaperDeps,
  syncing: Syncing,
  { name, kubeconfig, issuedUntil }: Credentials,
): Promise<void> {
  const former = await readObject(deps, targetKind, syncing.subject.namespace, name)
  if (former !== undefined && !isSynced(former)) throw taken(targetKind, former)
  const secret = { type: 'Opaque', data: { [KUBECONFIG_KEY]: kubeconfig } }
  const isNew = await write(deps, syncing, secretResource, { name, content: secret, redacted: [kubeconfig] })
  // The process may have died between both writes.
  const isUntold = former?.metadata.annotations?.[LAST_TARGET_SYNC_ANNOTATION] === undefined
  const isDated = isNew || isUntold || issuedUntil !== undefined
  const annotations = {
    ...(isDated && { [LAST_TARGET_SYNC_ANNOTATION]: deps.now().toISOString() }),
    ...(issuedUntil !== undefined && { [CREDENTIALS_UNTIL_ANNOTATION]: issuedUntil }),
  }
  try {
    await writeTarget(deps, syncing, { name, secretRef: { name, key: KUBECONFIG_KEY }, annotations })
  } catch (error) {
    // Reads again: another attempt may have created it meanwhile.
    const target = await readObject(deps, targetKind, syncing.subject.namespace, name)
    if (target === undefined || !isSynced(target)) await removeSecret(deps, syncing, name)
    throw error
  }
}

/** @throws SyncProblem, KubeError */
export async function writeTarget(
  deps: LandscaperDeps,
  syncing: Syncing,
  { name, secretRef, annotations }: { name: string; secretRef: object; annotations?: Readonly<Record<string, string>> },
): Promise<void> {
  const content = { spec: { type: KUBERNETES_TARGET_TYPE, secretRef } }
  await write(deps, syncing, targetKind, { name, content, ...(annotations !== undefined && { annotations }) })
}

/** Whether its Secret exists. */
export async function hasSecret(deps: LandscaperDeps, { subject }: Syncing, name: string): Promise<boolean> {
  const secret = await readObject(deps, secretResource, subject.namespace, name)
  return secret !== undefined && isSynced(secret)
}

/** T2. Removes a Target and its Secret. Objects that have changed meanwhile stay until the next synchronization. @throws KubeError */
export async function removeSynced(deps: LandscaperDeps, syncing: Syncing, target: Target): Promise<void> {
  await removeSecret(deps, syncing, target.metadata.name)
  await remove(deps, syncing.writer, targetKind, { namespace: syncing.subject.namespace, object: target })
}

/** Only a Secret of a TargetSync: the Secret with the access to the source belongs to the user. @throws KubeError */
export async function removeSecret(
  deps: LandscaperDeps,
  { subject: { namespace }, writer }: Syncing,
  name: string,
): Promise<void> {
  const secret = await readObject(deps, secretResource, namespace, name)
  if (secret !== undefined && isSynced(secret))
    await remove(deps, writer, secretResource, { namespace, object: secret })
}

async function remove(
  deps: LandscaperDeps,
  writer: Writer,
  watched: WatchedKind,
  { namespace, object }: { readonly namespace: string; readonly object: Pick<KubeObject, 'metadata'> },
): Promise<void> {
  const { name, uid = '', resourceVersion: version } = object.metadata
  await send(deps, writer, { verb: 'delete', watched, namespace, name, uid, version, isFenced: true })
}

interface Wanted {
  readonly name: string
  readonly annotations?: Readonly<Record<string, string>>
  readonly content: Readonly<Record<string, unknown>>
  readonly redacted?: readonly string[]
}

/** @returns whether the object was written. */
async function write(
  deps: LandscaperDeps,
  { subject, writer }: Syncing,
  watched: WatchedKind,
  wanted: Wanted,
): Promise<boolean> {
  const { namespace } = subject
  // Typed: without the type, a misspelt `redacted` would be lost, and messages would contain a kubeconfig.
  const at: Pick<Write, 'watched' | 'namespace' | 'name' | 'redacted'> = {
    watched,
    namespace,
    name: wanted.name,
    redacted: wanted.redacted ?? [],
  }
  const existing = await readObject(deps, watched, namespace, wanted.name)
  if (existing === undefined) {
    await send(deps, writer, { ...at, verb: 'create', body: bodyOf(subject, watched, wanted), isOurs: () => false })
    return true
  }
  if (!isSynced(existing)) throw taken(watched, existing)
  const patch = difference(subject, existing, wanted)
  if (patch === undefined) return false
  const { uid, resourceVersion = '' } = existing.metadata
  await send(deps, writer, {
    ...at,
    verb: 'patch',
    version: resourceVersion,
    patch,
    reapply: (current) =>
      current.metadata.uid === uid && isSynced(current)
        ? (difference(subject, current, wanted) ?? 'done')
        : 'superseded',
  })
  return true
}

async function send(deps: LandscaperDeps, writer: Writer, one: Write): Promise<void> {
  const [answer] = await writeAll(deps, writer, [one])
  if (answer?.result === 'failed') throw answer.error
  if (answer?.result === 'superseded') throw taken(one.watched, answer.object)
}

/** T1 */
function isSynced(object: Pick<KubeObject, 'metadata'>): boolean {
  if (object.metadata.labels?.[TARGET_SYNC_LABEL] !== 'ok') return false
  const owner = ownerOf(object)
  return owner === undefined || isSameGroupKind(groupKindOf(owner), groupKindOf(targetSyncKind))
}

function taken({ kind }: WatchedKind, { metadata: { namespace = '', name } }: KubeObject): SyncProblem {
  const found = `${kind} "${namespace}/${name}" exists and no TargetSync created it`
  return new SyncProblem(`${found}; rename or delete it, or exclude it by the expression`)
}

/** Without blockOwnerDeletion, which would need a right on the owner's finalizers. */
function ownerOfSync({ name, uid }: Subject): OwnerReference {
  const { apiVersion, kind } = targetSyncKind
  return { apiVersion, kind, name, uid, controller: true }
}

function bodyOf(subject: Subject, { apiVersion, kind }: WatchedKind, wanted: Wanted): KubeObject {
  const { namespace } = subject
  const { name, annotations = {}, content } = wanted
  const ownerReferences = [ownerOfSync(subject)]
  return { apiVersion, kind, metadata: { name, namespace, labels: LABELS, annotations, ownerReferences }, ...content }
}

function difference(subject: Subject, existing: KubeObject, { annotations, content }: Wanted): Patch | undefined {
  const found = Object.fromEntries(Object.keys(content).map((key) => [key, existing[key]]))
  const { metadata } = existing
  const others = (metadata.ownerReferences ?? []).filter(({ controller }) => controller !== true)
  const wanted = {
    ...metadata,
    ...(annotations !== undefined && { annotations: { ...metadata.annotations, ...annotations } }),
    ownerReferences: [...others, ownerOfSync(subject)],
  }
  return mergePatch({ ...found, metadata }, { ...content, metadata: wanted })
}
