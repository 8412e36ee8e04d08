// Reading: the subject by GET with its uid compared, children by LIST not older than what the journal or the run's own writes know.
// Never a bare LIST (a consistent list waits up to 100 ms on this server, facts.md), never version 0. Source: design.md "Reading".

import type { By, Subject, WatchedKind } from '../../workflows/kit/index.ts'
import type { Deps } from '../deps.ts'
import { touchJob } from '../journal/jobs.ts'
import { newestVersion } from '../journal/objects.ts'
import { type KubeObject, type ObjectList, resourcePath } from './client.ts'
import { isNotFound } from './errors.ts'

/** The subject as it is; undefined when it is gone or another object has its name. */
export async function readSubject(
  deps: Deps,
  watched: WatchedKind,
  { namespace, name, uid }: Omit<Subject, 'kind'>,
): Promise<KubeObject | undefined> {
  const object = await readObject(deps, watched, namespace, name)
  return object?.metadata.uid === uid ? object : undefined
}

/** One object by name; undefined when there is none. */
export async function readObject(
  deps: Pick<Deps, 'kube'>,
  watched: WatchedKind,
  namespace: string,
  name: string,
): Promise<KubeObject | undefined> {
  try {
    return await deps.kube.request<KubeObject>('GET', resourcePath(watched, namespace, name))
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/**
 * Objects of a kind in a namespace, at least as new as everything that the journal knows of them and as `ownVersion`.
 *
 * @param ownVersion newest version that the run itself has written, 0 for none.
 */
export async function listObjects(
  deps: Deps,
  watched: WatchedKind,
  namespace: string,
  { labelSelector, ownVersion = 0 }: { labelSelector: string; ownVersion?: number },
): Promise<readonly KubeObject[]> {
  const journaled = await newestVersion(deps.db, deps.cluster, watched.kind, namespace)
  const version = Math.max(journaled ?? 0, ownVersion)
  const freshness = version > 0 ? { resourceVersionMatch: 'NotOlderThan', resourceVersion: String(version) } : undefined
  const list = await deps.kube.request<ObjectList>('GET', resourcePath(watched, namespace), {
    query: { labelSelector, ...freshness },
  })
  return list.items
}

/** Tells the journal that a pass began: the sweep looks up jobs that had none for a while. */
export async function recordObservation(deps: Deps, by: By): Promise<void> {
  await touchJob(deps.db, by.workflowID, deps.now())
}
