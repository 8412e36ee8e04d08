// What the cluster knows of the injector's own pod: it outlives a restart of the node, as nothing on that does.

import type { KubeClient, KubeObject } from '../../kube/client.ts'
import { isNotFound } from '../../kube/errors.ts'
import type { Clock } from './clock.ts'
import type { PodName } from './cluster.ts'

const RETRIES = 3
const FIRST_BACKOFF_MS = 500
const NEVER = new AbortController().signal

/**
 * When its node has taken it up, by the clock of the node; milliseconds since 1970, to the second. Undefined: its status does not say.
 *
 * @throws after the last retry, and when the pod is gone: who does not know must not act as if nothing had been.
 */
export async function startOfPod(
  kube: Pick<KubeClient, 'request'>,
  { namespace, name }: PodName,
  clock: Pick<Clock, 'sleep'>,
): Promise<number | undefined> {
  for (let retries = 0; ; retries += 1) {
    try {
      const pod = await kube.request<KubeObject>('GET', `/api/v1/namespaces/${namespace}/pods/${name}`)
      const { startTime } = (pod['status'] ?? {}) as { readonly startTime?: string }
      return startTime === undefined ? undefined : Date.parse(startTime)
    } catch (error) {
      if (isNotFound(error) || retries === RETRIES) throw error
      await clock.sleep(FIRST_BACKOFF_MS * 2 ** retries, NEVER)
    }
  }
}
