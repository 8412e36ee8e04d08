// Kubernetes Events of an object, read from the API server with the rights of the user.

import type { KubeClient, KubeObject, ObjectList } from '../../activities/kube/client.ts'
import { KubeError } from '../../activities/kube/kube-error.ts'
import { resourcePath } from '../../activities/kube/resource-path.ts'

interface EventObject extends KubeObject {
  readonly reason?: string
  readonly message?: string
  readonly lastTimestamp?: string
}

const PAGE = '500'

/**
 * Reads the newest Events of an object as texts `<reason>: <message>`, the newest first. Equal texts occur once.
 *
 * @returns no texts if the user may not list Events.
 * @throws KubeError for other failures.
 */
export async function newestEvents(
  kube: Pick<KubeClient, 'request'>,
  { namespace, uid }: { readonly namespace: string; readonly uid: string },
  limit: number,
): Promise<readonly string[]> {
  const path = resourcePath({ apiVersion: 'v1', plural: 'events' }, namespace)
  const query = { fieldSelector: `involvedObject.uid=${uid}`, limit: PAGE }
  const answer = await kube.request<ObjectList>('GET', path, { query }).catch((error: unknown) => {
    if (error instanceof KubeError && error.status === 403) return undefined
    throw error
  })
  const events = [...((answer?.items ?? []) as readonly EventObject[])].sort((one, other) =>
    timeOf(one) < timeOf(other) ? 1 : -1,
  )
  return [...new Set(events.map(({ reason = '', message = '' }) => `${reason}: ${message}`))].slice(0, limit)
}

function timeOf({ lastTimestamp, metadata }: EventObject): string {
  return lastTimestamp ?? metadata.creationTimestamp ?? ''
}
